"""Tests of the lab's overview, clock and reset, and of how the lab is enabled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.oauth.lab.answers import data
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.people import SEEDED
from chatkey_oauth.providers import NAMES
from chatkey_oauth.settings import Settings, SettingsError

if TYPE_CHECKING:
    from chatkey_oauth.app import App


@pytest.mark.contract("D-14/fake-lab")
async def test_without_the_lab_there_is_none(make_fake: Callable[..., App]) -> None:
    transport = httpx.ASGITransport(app=make_fake())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answers = [await client.get(path) for path in ("/lab", "/lab/clients", "/lab/schema/openapi.json")]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


@pytest.mark.contract("D-14/fake-lab")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "fake.example"])
def test_the_lab_needs_a_loopback_address(host: str) -> None:
    with pytest.raises(SettingsError, match="only be reachable from this machine"):
        Settings(host=host, lab=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "id.localhost"])
def test_a_loopback_address_may_have_a_lab(host: str) -> None:
    assert Settings(host=host, lab=True).lab


async def test_the_overview_lists_providers_people_and_addresses(
    lab: httpx.AsyncClient, fake: App, google: Visitor
) -> None:
    google.ask()

    overview = data(await lab.get("/lab"))

    assert overview["providers"]["gitlab"] == {
        "browser_url": "https://id.localhost/gitlab",
        "server_url": "https://id.localhost/gitlab",
        "issuer": "https://id.localhost/gitlab",
    }
    assert {client["provider"] for client in overview["clients"]} == set(NAMES)
    assert (overview["people"], overview["flows"], overview["requests"]) == (len(SEEDED), 1, 1)
    assert (overview["auto_approve"], overview["rules"]) == (None, [])
    assert [fault["name"] for fault in overview["faults"]] == [fault.name for fault in fake.faults.catalogue()]
    assert all(fault["summary"] and fault["legs"] for fault in overview["faults"])
    assert all(switch["key"].partition(".")[0] in NAMES for switch in overview["switches"])


async def test_no_answer_shows_a_secret(lab: httpx.AsyncClient, google: Visitor) -> None:
    google.login(state="the-state-of-this-login")

    paths = ["/lab", "/lab/clients", "/lab/requests", "/lab/flows"]
    answers = [await lab.get(path, headers={"accept": kind}) for path in paths for kind in ("text/html", "*/*")]

    assert not any("ours-secret" in answer.text for answer in answers)
    assert not any("the-state-of-this-login" in answer.text for answer in answers)


@pytest.mark.contract("D-13/clock")
async def test_the_clock_is_moved_and_read(lab: httpx.AsyncClient, google: Visitor) -> None:
    code = google.callback()["code"]
    before = data(await lab.get("/lab/clock"))["now"]

    after = data(await lab.post("/lab/clock", json={"advance": 600}))["now"]

    assert after == before + 600
    assert google.redeem(code).status == 400


async def test_a_reset_returns_to_the_start(lab: httpx.AsyncClient, google: Visitor) -> None:
    start = data(await lab.get("/lab"))
    token = google.access_token()
    keys = google.get("/oauth2/v3/certs").body
    await lab.post("/lab/clock", json={"advance": 60})
    await lab.put("/lab/people/new", json={"id": "new"})
    await lab.delete("/lab/clients/google/ours")
    await lab.post("/lab/faults", json={"fault": "slow"})
    await lab.put("/lab/auto-approve", json={"account": "rhea"})
    await lab.put("/lab/switches/google.iss", json={"on": False})

    data(await lab.post("/lab/reset"))

    now = data(await lab.get("/lab"))
    assert {**now, "requests": 0} == start
    assert data(await lab.get("/lab/requests"))["requests"] == []
    assert google.profile(token).status == 401
    assert google.get("/oauth2/v3/certs").body == keys


async def test_the_lab_is_described_by_openapi(lab: httpx.AsyncClient) -> None:
    document = (await lab.get("/lab/schema/openapi.json")).json()

    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert all(operation.get("summary") for operation in operations)
    assert {"/lab", "/lab/faults/{rule_id}", "/lab/flows/{flow_id}/page", "/lab/requests"} <= set(document["paths"])
    assert {"Order", "Rule", "Flow", "Step", "Verdict", "Entry", "FaultInfo"} <= set(document["components"]["schemas"])
