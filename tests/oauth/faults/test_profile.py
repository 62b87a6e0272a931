"""Tests of faults of the profile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import SITES

from chatkey_oauth.faults.rules import Rule, Scope
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from tests.oauth.faults.journey import Journey
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.engine.http import Answer

    Arm = Callable[..., Rule]
    Travel = Callable[..., Journey]
    Visit = Callable[[str], Visitor]
    Content = Callable[[Answer], Any]

WITH_PROFILE = [name for name in NAMES if name != "apple"]
REFUSED = {"facebook": 400, "amazon": 400}


def subject_of(members: Any, name: str) -> Any:
    """Return the subject in a profile, or None. The subject may be in a nested object."""
    for step in SITES[name].subject.split("."):
        members = members.get(step)
    return members


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_another_subject_is_of_the_same_type_and_length(visit: Visit, arm: Arm, travel: Travel, name: str) -> None:
    arm("other-sub")

    bent, straight = travel(visit(name)).person, travel(visit(name)).person

    other, own = subject_of(bent, name), subject_of(straight, name)
    assert other != own
    assert type(other) is type(own)
    assert len(str(other)) == len(str(own))


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_a_profile_without_subject_has_the_rest(visit: Visit, arm: Arm, travel: Travel, name: str) -> None:
    arm("no-sub")

    journey = travel(visit(name))

    assert subject_of(journey.person, name) is None
    assert b"Rhea" in journey.answers[3].body


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_the_subject_can_be_empty(visit: Visit, arm: Arm, travel: Travel, name: str) -> None:
    arm("empty-sub")

    assert subject_of(travel(visit(name)).person, name) == ""


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_the_profile_is_refused_in_the_providers_words(visit: Visit, arm: Arm, travel: Travel, name: str) -> None:
    visitor = visit(name)
    arm("profile-refused")

    journey = travel(visitor)
    usual = visitor.profile("no-such-token")

    assert journey.profile is not None
    assert journey.profile.status == usual.status == REFUSED.get(name, 401)
    assert visitor.profile(journey.tokens["access_token"]).status == 200


@pytest.mark.parametrize(("name", "status"), [("gitlab", 403), ("x", 403), ("amazon", 403), ("github", 404)])
def test_the_profile_is_refused_because_of_a_missing_scope(
    visit: Visit, arm: Arm, travel: Travel, name: str, status: int
) -> None:
    arm("profile-refused", why="scope")

    journey = travel(visit(name))

    assert journey.profile is not None
    assert journey.profile.status == status


@pytest.mark.parametrize(
    ("name", "flag", "person", "text"),
    [
        ("google", "email_verified", "rhea", "true"),
        ("google", "email_verified", "unverified", "false"),
        ("discord", "verified", "unverified", "false"),
    ],
)
def test_a_flag_can_be_a_text(
    *, visit: Visit, arm: Arm, travel: Travel, name: str, flag: str, person: str, text: str
) -> None:
    arm("email-verified-text")

    assert travel(visit(name), person=person).person[flag] == text


@pytest.mark.parametrize(("fault", "body"), [("empty-profile", b"{}"), ("profile-list", b"[{")])
def test_the_profile_can_be_of_another_shape(
    google: Visitor, arm: Arm, travel: Travel, fault: str, body: bytes
) -> None:
    arm(fault)

    journey = travel(google)

    assert journey.profile is not None
    assert journey.profile.body.startswith(body)


def test_a_profile_fault_does_not_change_the_list_of_addresses(github: Visitor, arm: Arm, content: Content) -> None:
    rule = arm("other-sub", scope=Scope(provider="github"))
    token = github.login()["access_token"]

    emails = github.profile(token, "/user/emails")

    assert content(emails)[0]["email"] == "rhea@example.com"
    assert rule.hits == 0
