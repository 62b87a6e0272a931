"""Tests of access to the lab: only from this machine, and not from pages of other origins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from chatkey_oauth.app import App

    Read = Callable[[httpx.Response], Any]

OWN = "http://127.0.0.1"


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize("peer", ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1", ""])
async def test_a_peer_elsewhere_is_refused(fake: App, error: Read, peer: str) -> None:
    transport = httpx.ASGITransport(app=fake, client=(peer, 1234))
    async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
        status, code, message = error(await client.get("/lab"))

    assert (status, code) == (403, "peer_foreign")
    assert f"this request came from {peer!r}" in message


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize("host", ["evil.example", "id.example", "192.0.2.1:9911", "127.0.0.1.evil.example", "[", ""])
async def test_a_foreign_name_that_resolves_to_this_machine_is_refused(
    lab: httpx.AsyncClient, error: Read, host: str
) -> None:
    status, code, message = error(await lab.get("/lab", headers={"host": host}))

    assert (status, code) == (403, "host_foreign")
    assert message == f"Host: {host!r} is not a name of this machine. Call the lab at 127.0.0.1 or localhost."


@pytest.mark.parametrize("host", ["127.0.0.1:9911", "localhost:9911", "id.localhost", "[::1]:9911", "127.0.0.2"])
async def test_every_name_of_this_machine_is_accepted(lab: httpx.AsyncClient, host: str) -> None:
    assert (await lab.get("/lab", headers={"host": host})).status_code == 200


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:3000", "https://127.0.0.1", "http://localhost"]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/lab"), ("POST", "/lab/reset"), ("OPTIONS", "/lab/reset")])
async def test_a_page_of_another_origin_is_refused(
    lab: httpx.AsyncClient, error: Read, method: str, path: str, origin: str
) -> None:
    answer = await lab.request(method, path, headers={"origin": origin})

    status, code, message = error(answer)
    assert (status, code) == (403, "origin_foreign")
    assert message.startswith(f"Origin: pages of {origin!r} may not use the lab.")
    assert "access-control-allow-origin" not in answer.headers


async def test_a_page_of_the_fake_itself_may_use_it(lab: httpx.AsyncClient) -> None:
    assert (await lab.post("/lab/reset", headers={"origin": OWN})).status_code == 200


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/lab/requests?provder=google", "provder: no such parameter; the parameters are after, client_id, flow, leg"),
        ("/lab/flows?login=rhea", "the parameters are account, client_id, cookie, flow, login_hint, provider, state."),
        ("/lab/clock?now=1", "now: no such parameter; there are no parameters."),
        ("/lab/people/rhea?name=x", "name: no such parameter; there are no parameters."),
    ],
)
async def test_a_filter_with_a_typing_error_is_told_rather_than_ignored(
    lab: httpx.AsyncClient, error: Read, path: str, told: str
) -> None:
    method = "DELETE" if "people" in path else "GET"

    status, code, message = error(await lab.request(method, path))

    assert (status, code) == (400, "request_invalid")
    assert told in message


@pytest.mark.parametrize("path", ["/lab/requests", "/lab/flows"])
async def test_an_unknown_provider_is_refused(lab: httpx.AsyncClient, error: Read, path: str) -> None:
    status, code, message = error(await lab.get(path, params={"provider": "goggle"}))

    assert (status, code) == (404, "provider_unknown")
    assert message.startswith("provider: 'goggle' is not one of google, ")
