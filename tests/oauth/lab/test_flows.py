"""Tests of how the control API finds the flow of a test, by state or by cookie."""

from __future__ import annotations

import httpx
import pytest
from tests.oauth.lab.answers import data, error
from tests.oauth.visitor import Visitor


@pytest.mark.parametrize(
    "filters",
    [
        {"provider": "google"},
        {"login_hint": "omar"},
        {"cookie": "one"},
        {"state": "st-google"},
        {"client_id": "theirs", "provider": "google"},
    ],
)
async def test_a_flow_is_found_by_state_login_hint_or_client(
    lab: httpx.AsyncClient, google: Visitor, github: Visitor, filters: dict[str, str]
) -> None:
    asked = google.request(client_id="theirs", login_hint="omar", state="st-google")
    google.get(google.site.authorize, asked, cookie="chatkey_flow=one")
    github.ask(client_id="theirs", login="rhea", state="st-github")

    (found,) = data(await lab.get("/lab/flows", params=filters))

    assert (found["provider"], found["client_id"], found["login_hint"]) == ("google", "theirs", "omar")
    assert data(await lab.get("/lab/flows", params=filters | {"cookie": "another"})) == []


async def test_flows_are_listed_newest_first_and_each_has_its_own_address(
    lab: httpx.AsyncClient, google: Visitor, github: Visitor
) -> None:
    google.ask()
    github.ask()

    listed = data(await lab.get("/lab/flows"))
    each = [data(await lab.get(f"/lab/flows/{flow['id']}")) for flow in listed]

    assert [flow["provider"] for flow in listed] == ["github", "google"]
    assert each == listed
    assert error(await lab.get("/lab/flows/f_0000000000000000"))[:2] == (404, "flow_unknown")


async def test_the_state_is_shown_as_the_same_fingerprint_as_in_the_request_log(
    lab: httpx.AsyncClient, google: Visitor
) -> None:
    google.ask(state="the-state")

    (flow,) = data(await lab.get("/lab/flows"))
    (entry,) = data(await lab.get("/lab/requests"))["requests"]

    assert flow["state"] == entry["query"]["state"]
    assert flow["state"] not in {"", "the-state"}
    assert entry["flow"] == flow["id"]
