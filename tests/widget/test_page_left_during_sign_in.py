"""Tests of a sign-in after the page that opened the sign-in window has been reloaded or replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import PID, SETTINGS, VISITOR, Driver, click, post

from chatkey_widget import events

if TYPE_CHECKING:
    from tests.widget.driver import MakeWidget

GOOGLE = ("member", "google:42")


@pytest.fixture
def left(visitor: Driver) -> tuple[Driver, dict[str, object]]:
    """The widget of the next page in the same tab, and the message that the sign-in window will send."""
    message = click(visitor)
    return Driver(SETTINGS, sign_in=visitor.sign_in).start(), message


def test_the_next_page_of_the_tab_takes_the_sign_in(left: tuple[Driver, dict[str, object]]) -> None:
    """F209: the person who approved the sign-in must become the member.

    Origin and nonce identify the sign-in window.
    """
    widget, message = left

    post(widget, message, from_popup=False)

    assert widget.identity == GOOGLE
    assert widget.sign_in is None


def test_a_message_of_the_window_before_the_key_is_ready_is_used(left: tuple[Driver, dict[str, object]]) -> None:
    """F209: a page takes a while to load, so the sign-in window may send its message before the key is ready."""
    _, message = left
    widget = Driver(SETTINGS, sign_in=f"google {message['nonce']}")

    post(widget, message, from_popup=False)
    widget.start()

    assert widget.identity == GOOGLE


def test_the_next_page_gets_the_refusal(left: tuple[Driver, dict[str, object]]) -> None:
    """F209: a refusal must also end the sign-in."""
    widget, message = left
    declined = {**message, "token": None, "error": {"code": "oauth_denied", "message": "Declined."}}

    post(widget, declined, from_popup=False)
    post(widget, message, from_popup=False)

    assert widget.errors() == ["oauth_denied"]
    assert widget.identity == VISITOR


@pytest.mark.parametrize(
    ("changes", "origin"),
    [
        ({"nonce": "another"}, "https://chat.test"),
        ({"social": "github"}, "https://chat.test"),
        ({"providerId": f"{PID}x"}, "https://chat.test"),
        ({}, "https://evil.test"),
    ],
)
def test_the_message_of_another_sign_in_or_origin_is_ignored(
    left: tuple[Driver, dict[str, object]], changes: dict[str, object], origin: str
) -> None:
    """F168, F175: the widget must accept only the sign-in that this tab has begun, and only from the service."""
    widget, message = left

    post(widget, {**message, **changes}, origin=origin, from_popup=False)

    assert widget.identity == VISITOR
    assert widget.errors() == []


@pytest.mark.parametrize(
    "ending", [events.LogoutAsked(), events.LogoutAsked(heard=True), events.SocialClicked("github")]
)
def test_a_logout_or_another_sign_in_ends_it(left: tuple[Driver, dict[str, object]], ending: events.Event) -> None:
    """F192: a logout or another sign-in ends the sign-in that is under way, because the person no longer wants it."""
    widget, message = left

    widget.feed(ending)
    post(widget, message, from_popup=False)

    assert widget.identity == VISITOR
    assert (widget.sign_in or "").split(" ")[:2] != ["google", message["nonce"]]


@pytest.mark.parametrize("kept", ["", "google", " ", "google "])
def test_garbage_in_the_storage_starts_no_sign_in(make_widget: MakeWidget, kept: str) -> None:
    """The page's scripts can write to this storage, too."""
    widget = make_widget(sign_in=kept).start()

    post(widget, {"type": "wf:oauth", "providerId": PID, "social": "google", "nonce": ""}, from_popup=False)

    assert widget.errors() == []
