"""Tests that the fake's lab is guarded: only this machine may use it, and no page of another origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from tests.oauth.lab.answers import error

if TYPE_CHECKING:
    from chatkey_oauth.app import App

OWN = "http://127.0.0.1"


@pytest.mark.contract("D-14/fake-lab")
async def test_a_peer_elsewhere_is_refused(fake: App) -> None:
    transport = httpx.ASGITransport(app=fake, client=("192.0.2.7", 1234))
    async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
        status, code, message = error(await client.get("/lab"))

    assert (status, code) == (403, "peer_foreign")
    assert "this request came from '192.0.2.7'" in message


@pytest.mark.contract("D-14/fake-lab")
async def test_a_foreign_name_that_resolves_to_this_machine_is_refused(lab: httpx.AsyncClient) -> None:
    status, code, message = error(await lab.get("/lab", headers={"host": "evil.example"}))

    assert (status, code) == (403, "host_foreign")
    assert message == "Host: 'evil.example' is not a name of this machine. Call the lab at 127.0.0.1 or localhost."


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize(("method", "path"), [("GET", "/lab"), ("POST", "/lab/reset"), ("OPTIONS", "/lab/reset")])
async def test_only_a_page_of_the_fake_itself_may_use_it(lab: httpx.AsyncClient, method: str, path: str) -> None:
    foreign = await lab.request(method, path, headers={"origin": "http://localhost"})
    own = await lab.request(method, path, headers={"origin": OWN})

    status, code, message = error(foreign)
    assert (status, code) == (403, "origin_foreign")
    assert message.startswith("Origin: pages of 'http://localhost' may not use the lab.")
    assert "access-control-allow-origin" not in foreign.headers
    assert own.status_code != 403
