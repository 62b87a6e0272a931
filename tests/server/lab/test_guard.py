"""Tests of the access control of the service's lab, and of the agent panel that a lab enables."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

Fixture = Any

TOKEN = "a-token-of-the-lab-0123456789"
EVE = {"username": "eve", "password": "correct horse battery"}


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("sent", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_a_page_of_another_origin_cannot_add_an_administrator(lab: Fixture, sent: str) -> None:
    body = '{"username": "eve", "password": "correct horse battery"}'
    foreign = await lab.post(
        "/lab/administrators", content=body, headers={"Content-Type": sent, "Origin": "https://evil.test"}
    )
    unasked = await lab.post("/lab/administrators", content=body, headers={"Content-Type": sent})

    assert (foreign.status_code, unasked.status_code) == (403, 415)
    assert (await lab.post("/lab/administrators", json=EVE)).status_code == 201


@pytest.mark.contract("D-14/guard")
async def test_a_foreign_name_that_resolves_to_this_machine_is_refused(lab: Fixture) -> None:
    rebound = await lab.get("/lab/events", headers={"Host": "evil.test:8800"})

    assert (rebound.status_code, rebound.json()["error"]["code"]) == (403, "host_foreign")
    assert (await lab.get("/lab/events")).status_code == 200


@pytest.mark.contract("D-14/guard")
@pytest.mark.parametrize("path", ["/lab/clock", "/agent/lab"])
async def test_a_peer_elsewhere_gets_neither_lab_nor_panel(lab: Fixture, path: str) -> None:
    transport = httpx.ASGITransport(lab.app, client=("192.0.2.7", 50_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8800") as elsewhere:
        answer = await elsewhere.post(path, headers={"Origin": "http://localhost:8800"})

    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "peer_foreign")


async def test_the_panel_can_only_be_opened_from_its_own_page(lab: Fixture) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}

    foreign = await lab.post("/agent/lab", headers={**form, "Origin": "http://localhost:3000"})
    own = await lab.post("/agent/lab", headers={**form, "Origin": "http://localhost:8800"})

    assert (foreign.status_code, own.status_code) == (403, 303)
    assert "lab agent" in (await lab.get("/agent")).text


@pytest.mark.contract("D-14/lab-token")
async def test_with_a_token_the_lab_asks_for_it_and_the_panel_for_a_password(make_client: Fixture) -> None:
    async with make_client(lab=True, lab_token=TOKEN, base_url="https://chat.example") as client:
        shown = {"Authorization": f"Bearer {TOKEN}", "Host": "chat.example"}

        without = await client.get("/lab/clock")
        wrong = await client.get("/lab/clock", headers={"Authorization": "Bearer not-the-token-of-the-lab"})
        panel = await client.post("/agent/lab", headers={**shown, "Origin": "https://chat.example"})

        assert [without.status_code, wrong.status_code] == [401, 401]
        assert without.headers["www-authenticate"].startswith("Bearer")
        assert panel.status_code == 404
        assert "Continue as lab agent" not in (await client.get("/agent")).text
        assert (await client.get("/lab/clock", headers=shown)).status_code == 200
        assert (await client.post("/lab/administrators", json=EVE, headers=shown)).status_code == 201
