"""Tests of faults of the profile."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oauth.faults.journey import Arm, travel
from tests.oauth.visitor import SITES, Visitor, content

from chatkey_oauth.faults.rules import Scope
from chatkey_oauth.providers import NAMES

WITH_PROFILE = [name for name in NAMES if name != "apple"]
REFUSED = {"facebook": 400, "amazon": 400}


def subject_of(members: Any, name: str) -> Any:
    """Return the subject in a profile, or None. The subject may be in a nested object."""
    for step in SITES[name].subject.split("."):
        members = members.get(step)
    return members


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_another_subject_is_of_the_same_type_and_length(visitor: Visitor, arm: Arm, name: str) -> None:
    arm("other-sub")

    bent, straight = travel(visitor).person, travel(visitor).person

    other, own = subject_of(bent, name), subject_of(straight, name)
    assert other != own
    assert type(other) is type(own)
    assert len(str(other)) == len(str(own))


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_a_profile_without_subject_has_the_rest(visitor: Visitor, arm: Arm, name: str) -> None:
    arm("no-sub")

    journey = travel(visitor)

    assert subject_of(journey.person, name) is None
    assert b"Rhea" in journey.answers[3].body


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_the_subject_can_be_empty(visitor: Visitor, arm: Arm, name: str) -> None:
    arm("empty-sub")

    assert subject_of(travel(visitor).person, name) == ""


@pytest.mark.parametrize("name", WITH_PROFILE)
def test_the_profile_is_refused_in_the_providers_words(visitor: Visitor, arm: Arm, name: str) -> None:
    arm("profile-refused")

    journey = travel(visitor)
    usual = visitor.profile("no-such-token")

    assert journey.profile is not None
    assert journey.profile.status == usual.status == REFUSED.get(name, 401)
    assert visitor.profile(journey.tokens["access_token"]).status == 200


@pytest.mark.parametrize(("name", "status"), [("gitlab", 403), ("x", 403), ("amazon", 403), ("github", 404)])
def test_the_profile_is_refused_because_of_a_missing_scope(visitor: Visitor, arm: Arm, status: int) -> None:
    arm("profile-refused", why="scope")

    journey = travel(visitor)

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
def test_a_flag_can_be_a_text(*, visitor: Visitor, arm: Arm, flag: str, person: str, text: str) -> None:
    arm("email-verified-text")

    assert travel(visitor, person=person).person[flag] == text


@pytest.mark.parametrize(("fault", "body"), [("empty-profile", b"{}"), ("profile-list", b"[{")])
def test_the_profile_can_be_of_another_shape(google: Visitor, arm: Arm, fault: str, body: bytes) -> None:
    arm(fault)

    journey = travel(google)

    assert journey.profile is not None
    assert journey.profile.body.startswith(body)


def test_a_profile_fault_does_not_change_the_list_of_addresses(github: Visitor, arm: Arm) -> None:
    rule = arm("other-sub", scope=Scope(provider="github"))
    emails = github.profile(github.access_token(), "/user/emails")

    assert content(emails)[0]["email"] == "rhea@example.com"
    assert rule.hits == 0
