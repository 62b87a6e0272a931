"""Tests of arming and disarming faults through the control API."""

from __future__ import annotations

import httpx
from tests.oauth.lab.answers import data, error
from tests.oauth.visitor import Visitor


async def test_an_armed_fault_acts_once_and_counts_its_hits(lab: httpx.AsyncClient, google: Visitor) -> None:
    order = {"fault": "status-500", "scope": {"provider": "google"}, "with": {"leg": "token"}}

    armed = await lab.post("/lab/faults", json=order)
    answers = [google.redeem(google.callback()["code"]).status for _ in range(2)]
    listed = data(await lab.get("/lab/faults"))
    rule = data(await lab.delete(f"/lab/faults/{armed.json()['data']['id']}"))

    assert armed.status_code == 201
    assert answers == [500, 200]
    assert (rule["fault"], rule["scope"], rule["times"], rule["hits"]) == ("status-500", {"provider": "google"}, 1, 1)
    assert listed == [rule]
    assert data(await lab.get("/lab/faults")) == []
    assert error(await lab.delete(f"/lab/faults/{rule['id']}"))[:2] == (404, "rule_unknown")


async def test_a_fault_armed_without_a_number_of_times_lasts(lab: httpx.AsyncClient, google: Visitor) -> None:
    rule = data(await lab.post("/lab/faults", json={"fault": "status-500", "times": None}))

    answers = [google.redeem(google.callback()["code"]).status for _ in range(3)]
    disarmed = data(await lab.delete(f"/lab/faults/{rule['id']}"))

    assert answers == [500, 500, 500]
    assert disarmed["hits"] == 3
    assert google.redeem(google.callback()["code"]).status == 200


async def test_a_fault_for_one_browser_context_leaves_its_neighbour_alone(
    lab: httpx.AsyncClient, google: Visitor
) -> None:
    data(await lab.post("/lab/faults", json={"fault": "status-500", "scope": {"cookie": "one"}, "times": None}))

    def status(cookie: str) -> int:
        page = google.get(google.site.authorize, google.request(), cookie=f"chatkey_flow={cookie}")
        flow = page.body.decode().partition('name="flow" value="')[2].partition('"')[0]
        answer = google.decide(also=f"flow={flow}")
        code = dict(answer.headers)["location"].partition("code=")[2].partition("&")[0]
        return google.redeem(code.replace("%2F", "/")).status

    assert [status("one"), status("other")] == [500, 200]
