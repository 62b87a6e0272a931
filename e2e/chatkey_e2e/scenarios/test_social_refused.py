"""Sign-ins that end in a refusal: the opener hears a code, the person reads a sentence, and the button works again."""

from typing import Any

import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.plugin import MakeBusiness
from chatkey_e2e.scenarios.visitors import CANCELLED, FAILED, Visitor


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business whose visitors may sign in through the service's keys."""
    return make_business(get_token=False, service_keys=["google", "facebook", "github", "discord", "apple"])


@pytest.mark.contract("D-09/error", "D-12/always-chat")
@pytest.mark.parametrize("social", ["google", "facebook", "apple"])
def test_who_declines_stays_a_visitor_and_may_press_the_button_again(visitor: Visitor, social: str) -> None:
    """F171: in the words of OpenID Connect, of Facebook, and of Apple, which posts them."""
    visitor.asks(social).deny()

    visitor.is_told(social, "oauth_denied", CANCELLED)
    visitor.comes_in(social)


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("deny", "oauth_denied", CANCELLED),
        ("callback-error", "oauth_failed", FAILED),
    ],
)
def test_a_provider_that_refuses_unasked(visitor: Visitor, faults: Faults, fault: str, code: str, words: str) -> None:
    """F172: no page is shown, and the popup closes as it opened."""
    faults.arm(fault, provider="google")

    visitor.asks("google")

    visitor.is_told("google", code, words)
    visitor.comes_in("google")


@pytest.mark.contract("D-09/error", "D-12/always-chat")
@pytest.mark.parametrize(
    ("social", "fault", "options", "code", "words"),
    [
        ("google", "error-and-code", {}, "oauth_denied", CANCELLED),
        ("google", "code-dropped", {}, "parameter_missing", FAILED),
        ("google", "wrong-callback-iss", {}, "parameter_invalid", FAILED),
        ("github", "code-used", {}, "oauth_failed", FAILED),
        ("apple", "wrong-nonce", {}, "oauth_failed", FAILED),
        ("discord", "status-500", {"leg": "profile"}, "oauth_failed", FAILED),
    ],
)
def test_a_sign_in_that_fails_after_the_person_approved(
    visitor: Visitor, faults: Faults, social: str, fault: str, options: dict[str, Any], code: str, words: str
) -> None:
    """F172: on the way back, at the token endpoint, in the id_token, in the profile."""
    faults.arm(fault, provider=social, **options)

    visitor.asks(social).approve()

    visitor.is_told(social, code, words)
    visitor.comes_in(social)


@pytest.mark.parametrize(
    ("fault", "email"), [("keys-rotated", "rhea@example.com"), ("missing-scope", None), ("slow", "rhea@example.com")]
)
def test_what_does_no_harm_is_not_noticed(visitor: Visitor, faults: Faults, fault: str, email: str | None) -> None:
    """Keys rotated in the midst of the login, an address that is not shared, an answer that takes its time."""
    faults.arm(fault, provider="google", **({"seconds": 0.2} if fault == "slow" else {}))

    visitor.comes_in("google")

    (record,) = visitor.members
    assert record["email"] == email
    assert visitor.widget.events("oauth:failed") == []
