"""Tests of browsers whose storage fails. The widget must use memory instead, and report the failure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.widget.driver import VISITOR, Driver, MakeWidget
from tests.widget.world import TOKEN, World, run

from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

ELSEWHERE = "open this page in your browser"


async def test_a_key_in_memory_keeps_its_token_in_memory_too() -> None:
    """F003, F004: the key of the stored token may become readable again later.

    The widget must neither use nor overwrite this token.
    """
    world = World(degraded="timeout", stored=TOKEN)

    driven = run(world)
    await world.until(lambda: "ready" in world.names())

    assert "in memory" in world.asked
    assert "token:reused" not in world.names()
    assert "token:dropped" not in world.names()
    assert ("storage:degraded", {"what": "key", "reason": "timeout"}) in world.told
    driven.feed(events.ShutdownAsked())


@pytest.mark.contract("D-12/always-chat")
async def test_a_token_that_is_not_stored_still_makes_the_member() -> None:
    """F016, WDG-012: localStorage cannot store the token. The widget must inform the page and connect the member."""
    world = World(page=lambda: TOKEN, write_refused="QuotaExceededError")

    driven = run(world)
    await world.until(lambda: ("storage:degraded", {"what": "token", "reason": "QuotaExceededError"}) in world.told)
    await world.until(lambda: "ready" in world.names())

    assert world.errors() == []
    assert [detail["uid"] for name, detail in world.told if name == "token:received"] == ["ada"]
    driven.feed(events.ShutdownAsked())


def test_storage_that_keeps_failing_is_reported_once(member: Driver) -> None:
    """The widget cannot store any of the renewed tokens, and must report this only once."""
    for _ in range(3):
        member.feed(events.TokenNotStored("SecurityError"))

    assert member.emitted("storage:degraded") == [{"what": "token", "reason": "SecurityError"}]


@pytest.mark.contract("D-12/always-chat")
def test_a_browser_without_storage_and_windows_shows_where_to_sign_in(make_widget: MakeWidget) -> None:
    """F023: the first click opens no window. From then on, the panel must show a sentence in place of the buttons."""
    widget = make_widget(degraded="missing").start()
    assert not widget.view.sign_in_elsewhere

    widget.feed(events.SocialClicked("google"))
    widget.feed(events.PopupBlocked(widget.last(effects.OpenPopup).ref))

    assert widget.errors() == [Fault.POPUP_UNSUPPORTED]
    assert widget.view.sign_in_elsewhere
    assert widget.view.blocked is None
    assert ELSEWHERE in str(widget.view.notice)
    assert widget.identity == VISITOR


def test_a_page_that_cannot_open_windows_never_shows_a_button(make_widget: MakeWidget) -> None:
    """F023: `window.open` does not exist. The widget can detect this before any click."""
    with_windows = make_widget().start()

    without = Driver(replace(with_windows.settings, popups=False)).start()

    assert without.view.sign_in_elsewhere
    assert without.errors() == []
    assert not with_windows.view.sign_in_elsewhere
