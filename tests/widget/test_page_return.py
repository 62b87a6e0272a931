"""Tests of a page that comes back from the browser's back/forward cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA

from chatkey_widget import effects, events

if TYPE_CHECKING:
    from tests.widget.driver import Driver

MINUTES = 600.0
"""A time in seconds that is shorter than the token's lifetime."""

HOURS = 3 * 3600.0
"""A time in seconds that is longer than the token's lifetime."""


def come_back(widget: Driver, *, after: float, stored: str | None) -> None:
    """Show the page again after some time in which the page's timers did not run.

    The browser reports the closed socket last.
    """
    kept = widget.socket
    assert kept is not None
    widget.now += after
    widget.feed(events.StoredTokenChanged(stored), events.Woken("pageshow"), events.SocketClosed(kept, 1006))


@pytest.mark.contract("2.8/exp-before-reuse")
def test_a_member_whose_token_ended_meanwhile_is_asked_for_before_anything_connects(member: Driver) -> None:
    """F081: the stored token has expired, so the widget must ask the page for its user.

    If the page has no user, the widget must become the visitor.
    """
    member.page = lambda call: events.GetTokenReturned(call.ref, None)
    before = len(member.done)

    come_back(member, after=HOURS, stored=member.stored)

    fresh = [type(effect) for effect in member.done[before:]]
    assert fresh.index(effects.CallGetToken) < fresh.index(effects.OpenSocket)
    assert fresh.count(effects.OpenSocket) == 1
    assert member.identity[0] == "visitor"
    assert not member.view.person.member


@pytest.mark.contract("2.8/deleted-by-logout")
def test_a_member_who_logged_out_meanwhile_is_the_visitor_at_once(member: Driver) -> None:
    """F081: the storage no longer contains the token.

    The screen must show the visitor before the one new socket opens.
    """
    before = len(member.done)

    come_back(member, after=MINUTES, stored=None)

    fresh = member.done[before:]
    shown = next(effect.view for effect in fresh if isinstance(effect, effects.Show))
    assert not shown.person.member
    assert [type(effect) for effect in fresh].count(effects.OpenSocket) == 1
    assert member.identity[0] == "visitor"


def test_a_member_who_is_still_logged_in_comes_back_on_one_new_socket(member: Driver) -> None:
    """F081: `getToken` returns the member. The widget must connect this member with one new socket."""
    before = len(member.done)

    come_back(member, after=HOURS, stored=member.stored)

    fresh = [type(effect) for effect in member.done[before:]]
    assert fresh.count(effects.OpenSocket) == 1
    assert member.identity == ADA
