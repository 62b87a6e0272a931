"""Tests of access to the lab: only from this machine, and not from pages of other origins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from tests.oauth.lab.answers import error

if TYPE_CHECKING:
    from chatkey_oauth.app import App

OWN = "http://127.0.0.1"


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize("peer", ["192.0.2.7", "::ffff:192.0.2.7", "2001:db8::1", ""])
async def test_a_peer_elsewhere_is_refused(fake: App, peer: str) -> None:
    transport = httpx.ASGITransport(app=fake, client=(peer, 1234))
    async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
        status, code, message = error(await client.get("/lab"))

    assert (status, code) == (403, "peer_foreign")
    assert f"this request came from {peer!r}" in message


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize("host", ["evil.example", "id.example", "192.0.2.1:9911", "127.0.0.1.evil.example", "[", ""])
async def test_a_foreign_name_that_resolves_to_this_machine_is_refused(lab: httpx.AsyncClient, host: str) -> None:
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
async def test_a_page_of_another_origin_is_refused(lab: httpx.AsyncClient, method: str, path: str, origin: str) -> None:
    answer = await lab.request(method, path, headers={"origin": origin})

    status, code, message = error(answer)
    assert (status, code) == (403, "origin_foreign")
    assert message.startswith(f"Origin: pages of {origin!r} may not use the lab.")
    assert "access-control-allow-origin" not in answer.headers


async def test_a_page_of_the_fake_itself_may_use_it(lab: httpx.AsyncClient) -> None:
    assert (await lab.post("/lab/reset", headers={"origin": OWN})).status_code == 200
