"""Tests of the consent page's menu of faults."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.oauth.faults.journey import travel
from tests.oauth.visitor import Visitor

from chatkey_oauth.faults.catalogue import FAMILIES, FAULTS, SIGNED
from chatkey_oauth.faults.rules import Rule

if TYPE_CHECKING:
    from chatkey_oauth.app import App

OFFERED = [name for name, fault in FAULTS.items() if fault.on_menu]
BOXES = re.compile(rb'<input type="checkbox" name="misbehave" value="([a-z0-9-]+)">')
OFFLINE = {"access_type": "offline", "prompt": "consent"}


def offered(page: bytes) -> list[str]:
    """Return the names of the faults on a page's menu."""
    return [name.decode() for name in BOXES.findall(page)]


def test_the_menu_offers_the_faults_of_the_remaining_steps(google: Visitor) -> None:
    page = google.ask().body

    assert offered(page) == OFFERED
    assert b"<details" in page
    assert b"<details open" not in page
    assert len(OFFERED) >= 25


@pytest.mark.parametrize("scope", ["read:user", "openid"])
def test_without_an_id_token_no_fault_of_one_is_offered(github: Visitor, scope: str) -> None:
    signed = {fault.name for fault in FAMILIES[SIGNED]}

    assert offered(github.ask(scope=scope).body) == [name for name in OFFERED if name not in signed]


def test_without_the_lab_there_is_no_menu_and_no_flow(make_fake: Callable[..., App], google: Visitor) -> None:
    google.fake = make_fake()

    page = google.ask().body

    assert b"misbehave" not in page.partition(b"</style>")[2]
    assert b'name="flow"' not in page


@pytest.mark.parametrize("name", OFFERED)
def test_a_ticked_fault_acts_once_in_this_login(google: Visitor, name: str) -> None:
    travel(google, state="another", misbehave=[name], **OFFLINE)
    (rule,) = google.fake.faults.rules()
    flow = google.fake.flows.all()[0]

    travel(google, **OFFLINE)

    assert (rule.fault, rule.hits, rule.times, rule.scope.flow) == (name, 1, 1, flow.id)


def test_several_can_be_ticked(google: Visitor) -> None:
    journey = travel(google, misbehave=["state-dropped", "wrong-iss", "other-sub"])

    assert [rule.hits for rule in google.fake.faults.rules()] == [1, 1, 1]
    assert "state" not in journey.callback
    assert journey.claims["iss"] == "https://issuer.invalid"


def test_an_invented_fault_is_refused_by_name(google: Visitor) -> None:
    journey = travel(google, misbehave=["volcano"])

    assert journey.back is not None
    assert journey.back.status == 400
    assert b"&#x27;volcano&#x27; is not a fault." in journey.back.body
    assert google.fake.faults.rules() == []


def test_without_the_lab_nothing_can_be_ticked(make_fake: Callable[..., App], google: Visitor) -> None:
    google.fake = make_fake()

    answer = google.decide(also="misbehave=state-dropped")

    assert "state=st-1" in dict(answer.headers)["location"]


def test_a_rule_of_the_menu_is_a_rule_like_others(google: Visitor) -> None:
    travel(google, misbehave=["slow"])

    (rule,) = google.fake.faults.rules()

    assert isinstance(rule, Rule)
    assert google.fake.faults.unused() == []
