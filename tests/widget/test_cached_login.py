"""Tests of a login that was cached before the page was loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, KEY, NOW, OTHER_JKT, VISITOR

from chatkey_widget import effects, events
from chatkey_widget.server_time import ServerTime

if TYPE_CHECKING:
    from tests.widget.driver import MakeWidget


@pytest.mark.contract("3/reuse-across-loads", "2.8/exp-before-reuse", "D-12/visitor-beside", "4.2/not-for-members")
def test_a_cached_token_connects_the_member_directly(make_widget: MakeWidget) -> None:
    """WDG-009: the widget must not request a visitor token or call `getToken`. It must open one socket."""
    widget = make_widget(custom_login=True)
    widget.stored = widget.custom()

    widget.start()

    assert widget.identity == ADA
    assert widget.calls() == []
    assert widget.all(effects.LoadVisitorToken) == []
    assert widget.sockets() == 1


def test_a_cached_member_waits_for_the_sockets_address(make_widget: MakeWidget) -> None:
    """The key may be ready before the configuration, which contains the socket's address."""
    widget = make_widget(custom_login=True)
    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.KeyReady(KEY, widget.custom()))
    before = widget.sockets()

    widget.feed(events.ConfigurationLoaded({"socket_uri": "wss://chat.test/v1/socket"}))

    assert (before, widget.sockets()) == (0, 1)
    assert widget.identity == ADA


@pytest.mark.contract("D-06/dropped-before-connect", "2.8/exp-before-reuse")
@pytest.mark.parametrize(
    "cached",
    [
        pytest.param({"exp": int(NOW) - 10}, id="WDG-001"),
        pytest.param({"exp": int(NOW) + 5}, id="WDG-002"),
        pytest.param({"exp": "soon"}, id="WDG-003-exp"),
        pytest.param({"exp": int(NOW) * 1000}, id="WDG-003-ms"),
        pytest.param({"exp": ...}, id="WDG-003-missing"),
        pytest.param({"cnf": {"jkt": OTHER_JKT}}, id="WDG-005"),
        pytest.param({"pid": "prov_2"}, id="F020"),
        pytest.param({"type": "visitor"}, id="type"),
    ],
)
def test_an_unusable_cached_token_is_dropped_before_connecting(
    make_widget: MakeWidget, cached: dict[str, object]
) -> None:
    """F010, F068: the widget must delete the token without sending it.

    Then the widget must call `getToken` with the current key.
    """
    widget = make_widget(custom_login=True)
    useless = widget.stored = widget.custom(**cached)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(uid="bob"))

    widget.start()

    order = [type(effect).__name__ for effect in widget.done]
    assert order.index("DropToken") < order.index("OpenSocket")
    assert widget.calls() == [("load", 1)]
    assert useless not in widget.connects()
    assert widget.identity == ("member", "bob")


@pytest.mark.parametrize("garbage", ["{", "null", "", "x" * 1_000_000])
def test_garbage_in_the_cache_is_dropped(make_widget: MakeWidget, garbage: str) -> None:
    """F017, WDG-003: the widget must start as if nothing were cached."""
    widget = make_widget(custom_login=True, cached=garbage).start()

    assert widget.stored is None
    assert widget.calls() == [("load", 1)]
    assert widget.identity == VISITOR
    assert widget.errors() == []


@pytest.mark.contract("D-12/clock-skew")
def test_a_fast_page_clock_does_not_throw_a_good_cached_token_away(make_widget: MakeWidget) -> None:
    """F053, WDG-013: by the page's clock, the token has expired.

    The widget must keep the token until a response contains the server's time.
    """
    widget = make_widget(custom_login=True, server_ahead=-86_400)
    widget.stored = widget.custom()

    widget.start()

    assert widget.identity == ADA
    assert widget.calls() == []
    assert widget.sockets() == 1


@pytest.mark.contract("D-12/clock-skew", "2.8/exp-before-reuse")
def test_a_slow_page_clock_does_not_keep_a_dead_cached_token(make_widget: MakeWidget) -> None:
    """By the page's clock the token is valid, but by the server's time it has expired.

    The widget must not send the token, and must call `getToken` once.
    """
    widget = make_widget(custom_login=True, server_ahead=86_400)
    widget.stored = widget.custom(iat=int(NOW), exp=int(NOW) + 3600)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.start()

    assert widget.calls() == [("renew", 1)]
    assert widget.identity == ADA
    assert len(widget.connects()) == 1


def test_a_cached_token_that_has_ended_is_dropped_at_once_where_the_time_is_known(make_widget: MakeWidget) -> None:
    """The widget is restarted on the same page, so it already knows the server's time."""
    page = ServerTime()
    make_widget(page_time=page).start().feed(events.ShutdownAsked())
    widget = make_widget(custom_login=True, page_time=page)
    widget.stored = widget.custom(iat=int(NOW) - 7200, exp=int(NOW) - 3600)

    widget.start()

    assert widget.stored is None
    assert widget.calls() == [("load", 1)]
    assert widget.identity == VISITOR
    assert widget.sockets() == 1


def test_a_new_token_is_good_on_a_page_with_a_wrong_clock(make_widget: MakeWidget) -> None:
    """Until the widget knows the server's time, it trusts the `iat` of the token."""
    widget = make_widget(custom_login=True, server_ahead=-86_400, answers_tokens=False)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.start()

    assert widget.identity == ADA
    assert widget.errors() == []


def test_a_token_issued_at_time_zero_is_judged_by_its_own_time(make_widget: MakeWidget) -> None:
    """A backend whose clock starts at 1970 issues `iat: 0`.

    Until the widget knows the server's time, it treats this `iat` as the current time.
    """
    widget = make_widget(custom_login=True, answers_tokens=False).start()
    token = widget.custom(iat=0, exp=3600)

    widget.feed(events.StoredTokenChanged(token))

    assert [detail["expires_at"] for detail in widget.emitted("token:adopted")] == [3600]
