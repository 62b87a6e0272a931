"""Tests refused logins: the page gets a code, the person reads a message, and the button works again."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from chatkey_e2e import needs
from chatkey_e2e.business import Business
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.plugin import MakeBusiness
from chatkey_e2e.scenarios.logins import each
from chatkey_e2e.scenarios.visitors import CANCELLED, FAILED, Visitor

pytestmark = pytest.mark.long


class Case(NamedTuple):
    """A fault of one provider with its options, the error code for the page, and the text for the person."""

    fault: str
    social: str
    code: str
    words: str
    options: Mapping[str, Any] = MappingProxyType({})

    def __str__(self) -> str:
        return f"{self.fault}-{self.social}"


UNASKED = [
    Case("deny", "google", "oauth_denied", CANCELLED),
    Case("callback-error", "google", "oauth_failed", FAILED),
]
APPROVED = [
    Case("error-and-code", "google", "oauth_denied", CANCELLED),
    Case("code-dropped", "google", "parameter_missing", FAILED),
    Case("wrong-callback-iss", "google", "parameter_invalid", FAILED),
    Case("code-used", "github", "oauth_failed", FAILED),
    Case("wrong-nonce", "apple", "oauth_failed", FAILED),
    Case("status-500", "discord", "oauth_failed", FAILED, {"leg": "profile"}),
]


def each_of(cases: list[Case]) -> list[Any]:
    """Return one parameter for each case. A parameter is skipped if the target lacks the provider of its case."""
    return [pytest.param(case, marks=pytest.mark.needs(f"social:{case.social}"), id=str(case)) for case in cases]


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness, social: str) -> Business:
    return make_business(get_token=False, service_keys=needs.socials_of(request.node, social))


@pytest.mark.contract("D-09/error", "D-12/always-chat")
@pytest.mark.parametrize("social", each(["google", "facebook", "apple"]))
def test_who_declines_stays_a_visitor_and_may_press_the_button_again(visitor: Visitor, social: str) -> None:
    """F171: a person who declines must stay a visitor, whatever the error format (OpenID Connect, Facebook, Apple)."""
    visitor.asks(social).deny()

    visitor.is_told(social, "oauth_denied", CANCELLED)
    visitor.comes_in(social)


@pytest.mark.contract("D-09/error", "D-12/always-chat")
@pytest.mark.parametrize("case", each_of(UNASKED))
def test_a_provider_that_refuses_before_anybody_was_asked(visitor: Visitor, faults: Faults, case: Case) -> None:
    """F172: if a provider refuses before asking, the popup must close at once, and the next login must work."""
    faults.arm(case.fault, provider=case.social, **case.options)

    visitor.presses(case.social)

    visitor.is_told(case.social, case.code, case.words)
    visitor.comes_in(case.social)


@pytest.mark.contract("D-09/error", "D-12/always-chat")
@pytest.mark.parametrize("case", each_of(APPROVED))
def test_a_sign_in_that_fails_after_the_person_approved(visitor: Visitor, faults: Faults, case: Case) -> None:
    """F172: if a login fails after approval (callback, token, id_token or profile), the next login must work."""
    faults.arm(case.fault, provider=case.social, **case.options)

    visitor.asks(case.social).approve()

    visitor.is_told(case.social, case.code, case.words)
    visitor.comes_in(case.social)


@pytest.mark.parametrize(("fault", "email"), [("keys-rotated", "rhea@example.com"), ("missing-scope", None)])
@pytest.mark.needs("member-records", "social:google")
def test_what_does_no_harm_is_not_noticed(visitor: Visitor, faults: Faults, fault: str, email: str | None) -> None:
    """A login must succeed if the provider changes its keys meanwhile, or if the email address is missing."""
    faults.arm(fault, provider="google")

    visitor.comes_in("google")

    (record,) = visitor.members
    assert record["email"] == email
    assert visitor.widget.events("oauth:failed") == []
