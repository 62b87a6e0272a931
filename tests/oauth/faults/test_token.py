"""Tests of faults of the token endpoint."""

from __future__ import annotations

from typing import Any

import pytest
from tests.oauth.faults.journey import MINE, Arm, travel
from tests.oauth.visitor import Visitor, content

from chatkey_oauth.engine.call import pairs
from chatkey_oauth.engine.refusals import Reason
from chatkey_oauth.providers import NAMES

OFFLINE = {"access_type": "offline", "prompt": "consent"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("fault", "options", "reason"),
    [
        ("code-used", {}, Reason.CODE_USED),
        ("code-expired", {}, Reason.CODE_EXPIRED),
        ("client-refused", {}, Reason.CLIENT_SECRET),
        ("token-refused", {}, Reason.CODE_UNKNOWN),
        ("token-refused", {"why": "verifier_wrong"}, Reason.VERIFIER_WRONG),
    ],
)
def test_a_good_code_is_refused_in_the_providers_words_and_stays_good(
    *, visitor: Visitor, arm: Arm, name: str, fault: str, options: dict[str, str], reason: Reason
) -> None:
    rule = arm(fault, **options)
    code = code_of(visitor)

    refused = visitor.redeem(code)

    words = visitor.fake.provider(name).words[reason]
    assert refused.status == words.status or name == "tiktok"
    assert words.error.partition("/")[0] in str(content(refused))
    assert "access_token" in content(visitor.redeem(code))
    assert rule.hits == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("why", Reason)
def test_every_reason_has_a_refusal_at_every_provider(visitor: Visitor, arm: Arm, why: Reason) -> None:
    arm("token-refused", why=why)

    refused = visitor.redeem(code_of(visitor))

    assert content(refused)["error"]


def code_of(visitor: Visitor) -> str:
    asked = visitor.decide(state=MINE)
    location = dict(asked.headers)["location"]
    return dict(pairs(location.partition("?")[2]))["code"]


@pytest.mark.parametrize(
    ("fault", "options", "gone", "changed"),
    [
        ("no-access-token", {}, {"access_token"}, {}),
        ("no-id-token", {}, {"id_token"}, {}),
        ("no-refresh-token", {}, {"refresh_token"}, {}),
        ("null-member", {}, set(), {"access_token": None}),
        ("null-member", {"member": "id_token"}, set(), {"id_token": None}),
        ("token-type", {}, set(), {"token_type": "mac"}),
        ("token-type", {"type": ""}, set(), {"token_type": ""}),
        ("expires-in", {}, set(), {"expires_in": -1}),
        ("expires-in", {"expires_in": "3600"}, set(), {"expires_in": "3600"}),
        ("expires-in", {"expires_in": None}, {"expires_in"}, {}),
        ("malformed-id-token", {}, set(), {"id_token": "not.a.token"}),
    ],
)
def test_a_fault_changes_only_one_member_of_the_token_answer(
    *, google: Visitor, arm: Arm, fault: str, options: dict[str, Any], gone: set[str], changed: dict[str, Any]
) -> None:
    arm(fault, **options)
    usual = {"access_token", "token_type", "expires_in", "refresh_token", "scope", "id_token"}

    members = travel(google, **OFFLINE).tokens

    assert set(members) == usual - gone
    assert changed.items() <= members.items()


def test_an_absent_member_is_not_set_to_null(google: Visitor, arm: Arm) -> None:
    rule = arm("null-member", member="mac_key")

    assert "mac_key" not in travel(google).tokens
    assert rule.hits == 0


def test_the_token_answer_can_be_form_encoded(google: Visitor, arm: Arm) -> None:
    arm("form-encoded")

    answer = travel(google).token

    assert answer is not None
    assert dict(answer.headers)["content-type"] == "application/x-www-form-urlencoded; charset=utf-8"
    assert dict(pairs(answer.body.decode()))["token_type"] == "Bearer"


def test_the_form_encoding_of_github_does_not_count_as_a_hit(github: Visitor, arm: Arm) -> None:
    rule = arm("form-encoded")

    github.redeem(code_of(github), accept="*/*")

    assert rule.hits == 0


def test_an_error_can_have_the_status_of_a_success(google: Visitor, arm: Arm) -> None:
    arm("error-with-200")

    answer = google.redeem(code_of(google))

    assert answer.status == 200
    assert content(answer)["error"] == "invalid_grant"


def test_faults_of_the_token_answer_apply_to_a_refresh(google: Visitor, arm: Arm) -> None:
    refresh_token = travel(google, **OFFLINE).tokens["refresh_token"]
    rule = arm("token-refused", why="refresh_token")

    answer = google.refresh(refresh_token)

    assert content(answer)["error_description"] == "Token has been expired or revoked."
    assert rule.hits == 1
