"""Tests of faults of the callback."""

from __future__ import annotations

import pytest
from tests.oauth.faults.journey import MINE, Arm, travel
from tests.oauth.visitor import Visitor, parameters

from chatkey_oauth.faults.rules import Scope
from chatkey_oauth.providers import NAMES

ISSUER = "https://id.localhost/google"


@pytest.mark.parametrize("name", NAMES)
def test_cancel_sends_back_at_once_in_the_providers_words(visitor: Visitor, arm: Arm, name: str) -> None:
    rule = arm("cancel")

    back = parameters(visitor.ask(state=MINE))

    assert back["state"] == MINE
    assert "code" not in back
    assert back == parameters(visitor.decide(decision="deny", state=MINE))
    assert rule.hits == 1


@pytest.mark.parametrize(
    ("fault", "options", "sent"),
    [
        ("deny", {}, {"error": "access_denied", "state": MINE, "iss": ISSUER}),
        (
            "callback-error",
            {},
            {
                "error": "server_error",
                "error_description": "The authorization server failed.",
                "state": MINE,
                "iss": ISSUER,
            },
        ),
        (
            "callback-error",
            {"error": "temporarily_unavailable"},
            {
                "error": "temporarily_unavailable",
                "error_description": "The authorization server failed.",
                "state": MINE,
                "iss": ISSUER,
            },
        ),
    ],
)
def test_an_error_is_sent_back_without_the_consent_page(
    *, google: Visitor, arm: Arm, fault: str, options: dict[str, str], sent: dict[str, str]
) -> None:
    arm(fault, **options)

    assert parameters(google.ask(state=MINE)) == sent


@pytest.mark.parametrize("fault", ["deny", "cancel", "callback-error"])
def test_an_error_for_an_account_comes_after_that_account_was_chosen(google: Visitor, arm: Arm, fault: str) -> None:
    rule = arm(fault, scope=Scope(account="omar"))

    others = travel(google, person="rhea")
    page = google.ask(state=MINE)
    back = parameters(google.decide("omar", state=MINE))

    assert "code" in others.callback
    assert page.status == 200
    assert "error" in back
    assert "code" not in back
    assert rule.hits == 1


@pytest.mark.parametrize(
    ("fault", "options", "changed"),
    [
        ("state-dropped", {}, {"state": None}),
        ("state-altered", {}, {"state": "mine-01234a6789abcdef"}),
        ("state-swapped", {"state": "of-somebody-else"}, {"state": "of-somebody-else"}),
        ("code-dropped", {}, {"code": None}),
        ("error-and-code", {}, {"error": "access_denied"}),
        ("wrong-callback-iss", {}, {"iss": "https://issuer.invalid"}),
        ("wrong-callback-iss", {"iss": "https://id.localhost/github"}, {"iss": "https://id.localhost/github"}),
        ("no-callback-iss", {}, {"iss": None}),
    ],
)
def test_a_fault_changes_only_one_parameter_of_the_callback(
    *, google: Visitor, arm: Arm, fault: str, options: dict[str, str], changed: dict[str, str | None]
) -> None:
    arm(fault, **options)
    usual = {"code", "state", "scope", "authuser", "prompt", "iss"}

    callback = travel(google).callback

    for name, value in changed.items():
        assert callback.get(name) == value
    assert set(callback) == usual.union(changed) - {name for name, value in changed.items() if value is None}
    assert changed.keys() & {"state"} or callback["state"] == MINE


def test_the_swapped_state_is_that_of_the_newest_flow_of_the_same_client(google: Visitor, arm: Arm) -> None:
    arm("state-swapped")
    google.ask(state="of-a-third-flow")
    google.ask(state="of-the-other-flow")
    google.ask(state="of-another-client", client_id="theirs")

    assert travel(google).callback["state"] == "of-the-other-flow"


def test_the_state_is_not_swapped_without_another_flow(google: Visitor, arm: Arm) -> None:
    rule = arm("state-swapped")

    assert travel(google).callback["state"] == MINE
    assert rule.hits == 0


def test_an_altered_code_was_never_issued(google: Visitor, arm: Arm) -> None:
    arm("code-altered")

    journey = travel(google)

    assert journey.callback["code"].startswith("4/0A")
    assert google.redeem(journey.callback["code"]).status == 400


def test_the_browser_is_sent_to_another_registered_address_only(google: Visitor, arm: Arm) -> None:
    arm("other-redirect-uri")
    bent = travel(google).location
    stranger = arm("other-redirect-uri", redirect_uri="https://stranger.example/")
    straight = travel(google).location

    assert bent.startswith("https://chat.example/second?")
    assert straight.startswith("https://chat.example/callback?")
    assert stranger.hits == 0


@pytest.mark.parametrize(
    ("name", "asked", "granted"),
    [
        ("google", "openid email profile", "openid https://www.googleapis.com/auth/userinfo.profile"),
        ("github", "read:user,user:email", "read:user"),
        ("discord", "identify email", "identify"),
        ("amazon", "profile postal_code", "profile"),
    ],
)
def test_a_missing_scope_is_missing_everywhere(
    *, visitor: Visitor, arm: Arm, name: str, asked: str, granted: str
) -> None:
    rule = arm("missing-scope")

    journey = travel(visitor, scope=asked)

    assert rule.hits == 1
    assert journey.tokens.get("scope", granted) == granted
    assert "email" not in journey.person or name == "amazon" or journey.person["email"] is None


def test_the_scope_that_is_missing_can_be_chosen(google: Visitor, arm: Arm) -> None:
    arm("missing-scope", scope=Scope(provider="google"), left_out="profile")

    journey = travel(google)

    assert "email" in journey.person
    assert "name" not in journey.person


def test_faults_of_the_callback_reach_a_form_post_too(apple: Visitor, arm: Arm) -> None:
    arm("state-dropped")

    page = apple.decide(state=MINE, scope="name email", response_mode="form_post")

    assert b'name="code"' in page.body
    assert b'name="state"' not in page.body
