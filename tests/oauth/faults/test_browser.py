"""Tests of faults of the pages in the popup."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oauth.faults.journey import MINE, Arm, Journey, travel
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.call import Call

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

COOP = "cross-origin-opener-policy"
POLICIES = ["same-origin", "same-origin-allow-popups", "noopener-allow-popups"]


def policies(journey: Journey) -> list[str | None]:
    """Return the `Cross-Origin-Opener-Policy` of the consent page and of the redirect to the callback."""
    return [dict(answer.headers).get(COOP) for answer in journey.answers[:2]]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("page", "on_page", "on_return"), [("any", 1, 0), ("consent", 1, 0), ("return", 0, 1)])
def test_the_opener_policy_is_on_the_page_asked_for(
    *, google: Visitor, arm: Arm, policy: str, page: str, on_page: int, on_return: int
) -> None:
    rule = arm(f"coop-{policy}", page=page)

    journey = travel(google)

    assert policies(journey) == [policy if on_page else None, policy if on_return else None]
    assert journey.callback["state"] == MINE
    assert rule.hits == 1


def test_a_lasting_opener_policy_is_on_every_page(google: Visitor, arm: Arm) -> None:
    arm("coop-same-origin", times=None)

    assert policies(travel(google)) == ["same-origin", "same-origin"]


@pytest.mark.parametrize("times", [1, None])
def test_the_opener_policy_can_be_on_a_redirect_before_the_consent_page(
    google: Visitor, arm: Arm, times: int | None
) -> None:
    rule = arm("coop-same-origin", times=times, page="entrance")

    hop = google.ask(state=MINE)
    location = dict(hop.headers)["location"]
    path, _, query = location.removeprefix("https://id.localhost").partition("?")
    page = google.fake.answer(Call("GET", path, query))

    assert (hop.status, dict(hop.headers)[COOP]) == (302, "same-origin")
    assert location.startswith("https://id.localhost/google/o/oauth2/v2/auth?client_id=ours&")
    assert page.status == 200
    assert COOP not in dict(page.headers)
    assert rule.hits == 1


def test_a_popup_left_open_sends_nobody_back(google: Visitor, arm: Arm) -> None:
    arm("popup-left-open")

    journey = travel(google)

    assert journey.back is not None
    assert journey.back.status == 200
    assert b"You can close this window." in journey.back.body
    assert "location" not in dict(journey.back.headers)
    assert b"<script" not in journey.back.body


@pytest.mark.parametrize("ask", [True, False], ids=["before the person is asked", "after"])
def test_an_error_page_sends_nobody_back(google: Visitor, arm: Arm, ask: bool) -> None:
    arm("error-page")

    answer: Answer = google.ask(state=MINE) if ask else google.decide(state=MINE)

    assert answer.status == 403
    assert b"This application is blocked for now." in answer.body
    assert "location" not in dict(answer.headers)
