"""Tests of the Python client of the fake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.oauth.visitor import Visitor

from chatkey_oauth.client import FakeOAuth, FaultNotHit, LabError, Leg, Person, Scope

if TYPE_CHECKING:
    from chatkey_oauth.app import App

TOKEN_500 = {"leg": "token"}


class InProcess(httpx.BaseTransport):
    """Passes requests to a fake in this process, without a network."""

    def __init__(self, fake: App) -> None:
        self._inner = httpx.ASGITransport(app=fake)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return asyncio.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        # ASGITransport does not accept a synchronous body.
        asked = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        answer = await self._inner.handle_async_request(asked)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())


@pytest.fixture
def make_client() -> Callable[[App], FakeOAuth]:
    return lambda fake: FakeOAuth("http://127.0.0.1", transport=InProcess(fake))


@pytest.fixture
def client(make_client: Callable[[App], FakeOAuth], fake: App) -> Iterator[FakeOAuth]:
    with make_client(fake) as client:
        yield client


def test_the_overview_comes_as_structs(client: FakeOAuth, fake: App) -> None:
    overview = client.overview()

    assert overview.providers["google"].browser_url == "https://id.localhost/google"
    assert overview.faults == client.catalogue() == fake.faults.catalogue()
    assert Leg.TOKEN in next(fault for fault in overview.faults if fault.name == "status-500").legs


def test_applications_are_registered_listed_and_forgotten(client: FakeOAuth) -> None:
    made = client.add_client("x", client_id="new", client_secret="s", redirect_uris=["https://a.example/"], name="New")

    listed = client.clients()
    client.remove_client("x", "new")

    assert (made.client_id, made.client_secret, made.name) == ("new", "", "New")
    assert made in listed
    assert made not in client.clients()


def test_people_are_added_changed_and_forgotten(client: FakeOAuth) -> None:
    person = Person(id="new", name="New", email="new@example.com")

    client.put_person(person)
    added = client.people()[-1]
    client.put_person(Person(id="new", name="Newer"))
    changed = client.people()[-1]
    client.remove_person("new")

    assert (added, changed.name, changed.email) == (person, "Newer", None)
    assert "new" not in {known.id for known in client.people()}


def test_time_moves_and_a_reset_brings_it_back(client: FakeOAuth) -> None:
    start = client.now()

    moved = client.advance(3600)
    client.reset()

    assert (moved - start, client.now()) == (3600, start)


def test_a_refusal_has_status_and_code_and_names_the_request(client: FakeOAuth) -> None:
    with pytest.raises(LabError) as refused:
        client.arm("status-50")

    assert (refused.value.status, refused.value.code) == (400, "fault_invalid")
    assert str(refused.value).startswith("POST /lab/faults was answered with 400: fault: 'status-50'")


def test_an_address_without_a_lab_is_told(
    make_client: Callable[[App], FakeOAuth], make_fake: Callable[..., App]
) -> None:
    with make_client(make_fake()) as client, pytest.raises(LabError) as refused:
        client.overview()

    assert (refused.value.status, refused.value.code) == (404, "http_404")
    assert "Is the lab on, and is this its address?" in str(refused.value)


# faults


def test_a_fault_is_disarmed_after_its_block(client: FakeOAuth, google: Visitor) -> None:
    with client.misbehave("status-500", Scope(provider="google"), times=None, leg="token") as rule:
        bent = google.redeem(google.callback()["code"]).status

    assert (rule.fault, rule.scope.provider, rule.times, rule.with_) == ("status-500", "google", None, TOKEN_500)
    assert bent == 500
    assert google.redeem(google.callback()["code"]).status == 200
    assert client.rules() == []


@pytest.mark.contract("D-14/fault-missed")
def test_a_fault_that_is_never_hit_fails_its_block_and_is_disarmed(client: FakeOAuth, github: Visitor) -> None:
    scope = Scope(provider="google", login_hint="omar")

    with pytest.raises(FaultNotHit) as missed, client.misbehave("status-500", scope):
        github.login()

    assert missed.value.rule.hits == 0
    assert "The fault 'status-500' for provider 'google', login_hint 'omar' was armed but never acted." in str(
        missed.value
    )
    assert client.rules() == []


def test_an_error_within_the_block_is_not_hidden_by_a_fault_that_was_not_met(client: FakeOAuth) -> None:
    with pytest.raises(ZeroDivisionError), client.misbehave("slow", seconds=1):
        _ = 1 / 0

    assert client.rules() == []


def test_a_rule_is_armed_listed_and_disarmed_with_its_hits(client: FakeOAuth, google: Visitor) -> None:
    rule = client.arm("status-500", leg="token")
    google.redeem(google.callback()["code"])

    listed, disarmed = client.rules(), client.disarm(rule.id)

    assert [known.id for known in listed] == [rule.id]
    assert (disarmed.hits, disarmed.spent) == (1, True)


# what happened


def test_flows_and_their_timelines(client: FakeOAuth, google: Visitor, github: Visitor) -> None:
    google.profile(google.access_token())
    github.ask()

    (flow,) = client.flows(Scope(provider="google"))
    text = client.timeline(flow.id)

    assert client.flow(flow.id) == flow
    assert (flow.account, [step.leg for step in flow.steps]) == (
        "rhea",
        [Leg.CONSENT, Leg.CODE, Leg.TOKEN, Leg.PROFILE],
    )
    assert flow.steps[0].verdicts["state"].mark == "odd"
    assert text.splitlines()[0] == f"{flow.id} at google, client ours, as rhea"
    assert "token     POST /token → 200" in text
    assert "state odd: state of 4 characters" in text
    assert client.page_of(flow.id) == f"http://127.0.0.1/lab/flows/{flow.id}/page"


def test_the_timeline_names_the_faults_before_anything_else(client: FakeOAuth, google: Visitor) -> None:
    with client.misbehave("status-500", leg="token"):
        google.redeem(google.callback()["code"])

    lines = client.timeline(client.flows()[0].id).splitlines()

    (token,) = (number for number, line in enumerate(lines) if "POST /token" in line)
    assert lines[token].endswith("→ 500")
    assert lines[token + 1].strip() == "fault: status-500"


def test_requests_are_filtered_and_waited_for(client: FakeOAuth, google: Visitor) -> None:
    google.login()

    found = client.requests(leg=Leg.TOKEN, status=200, wait=5)
    nothing = client.requests(provider="github", wait=0.01)

    assert [(entry.method, entry.path, entry.leg) for entry in found] == [("POST", "/token", Leg.TOKEN)]
    assert nothing == []


# operations on the providers


def test_keys_rotate_switches_are_set_and_somebody_approves_unasked(client: FakeOAuth, google: Visitor) -> None:
    keys = client.rotate_keys("google")
    switch = client.switch("google.iss", on=False)
    client.auto_approve("rhea")

    assert keys.kid == keys.keys[0]["kid"]
    assert switch in client.switches()
    assert google.ask().status == 302
