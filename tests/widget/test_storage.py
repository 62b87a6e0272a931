"""Tests of browsers whose storage fails. The widget must use memory instead, and report the failure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.widget.driver import VISITOR, Driver, MakeWidget
from tests.widget.world import TOKEN, World, run

from chatkey_widget import effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.in_app import is_in_app, outside

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
@pytest.mark.parametrize(("degraded", "in_page"), [("missing", False), (None, True)])
def test_a_browser_without_windows_shows_where_to_sign_in(
    make_widget: MakeWidget, *, degraded: str | None, in_page: bool
) -> None:
    """F023: the first click opens no window. From then on, the panel must show a sentence in place of the buttons."""
    widget = make_widget(degraded=degraded).start()
    assert not widget.view.sign_in_elsewhere

    widget.feed(events.SocialClicked("google"))
    widget.feed(events.PopupBlocked(widget.last(effects.OpenPopup).ref, in_page=in_page))

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


IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15"
ANDROID = "Mozilla/5.0 (Linux; Android 15; Pixel 8; wv) AppleWebKit/537.36 Chrome/149.0.0.0 Mobile Safari/537.36"


@pytest.mark.parametrize(
    ("user_agent", "in_app", "address"),
    [
        (
            f"{IPHONE} Mobile/22F76 [FBAN/FBIOS;FBAV/520.0;FBBV/7;FBDV/iPhone15,2]",
            True,
            "x-safari-https://a.test/b?c=d",
        ),
        (f"{ANDROID} [FB_IAB/FB4A;FBAV/520.0;]", True, "intent://a.test/b?c=d#Intent;scheme=https;end"),
        (f"{IPHONE} Mobile/22F76 Instagram 390.0", True, "x-safari-https://a.test/b?c=d"),
        (f"{ANDROID} Instagram 390.0 Android", True, "intent://a.test/b?c=d#Intent;scheme=https;end"),
        (f"{IPHONE} Version/18.5 Mobile/15E148 Safari/604.1", False, "x-safari-https://a.test/b?c=d"),
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/149.0.0.0 Safari/537.36", False, None),
    ],
)
def test_an_apps_browser_is_known_by_its_name_and_has_an_address_that_leads_out(
    *, user_agent: str, in_app: bool, address: str | None
) -> None:
    assert is_in_app(user_agent) is in_app
    assert outside(user_agent, "https://a.test/b?c=d#e") == address
    assert outside(user_agent, "about:srcdoc") is None
