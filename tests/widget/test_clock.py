"""Tests of time in the widget: wrong or changed clocks, sleep, and hidden tabs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, KEY, NOW, PID, VISITOR, jwt

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.server_time import ServerTime

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget

HOUR = 3600
WAKING = (events.Woken("visible"), events.Woken("online"), events.Woken("pageshow"))


def in_hidden_tab(widget: Driver, minutes: int) -> None:
    """Let time pass as in a hidden tab, where browsers fire timers only once a minute."""
    for _ in range(minutes):
        widget.sleep(60)


def set_the_pages_clock(widget: Driver, seconds: float) -> None:
    """Change only the page's clock. Timers are not affected, because they measure elapsed time."""
    widget.now += seconds
    widget.server_ahead -= seconds
    for name in widget.timers:
        widget.timers[name] += seconds


def names_of(done: list[effects.Effect]) -> list[str]:
    return [type(effect).__name__ for effect in done]


def clock_warnings(*widgets: Driver) -> list[object]:
    return [warning["code"] for widget in widgets for warning in widget.emitted("warning")]


@pytest.mark.contract("D-12/clock-skew")
def test_a_skew_is_told_once_for_each_page(make_widget: MakeWidget) -> None:
    """F053: the widget must not repeat the warning for a new socket, or after a restart on the same page.

    On a new page, it must warn again.
    """
    page = ServerTime()
    first = make_widget(server_ahead=HOUR, page_time=page).start()
    first.close(1006)
    first.advance(1)
    first.feed(events.ShutdownAsked())

    again = make_widget(server_ahead=HOUR, page_time=page).start()
    elsewhere = make_widget(server_ahead=HOUR).start()

    assert clock_warnings(first, again) == ["clock_skew"]
    assert clock_warnings(elsewhere) == ["clock_skew"]


@pytest.mark.contract("D-12/clock-skew")
@pytest.mark.parametrize("ahead", [HOUR, -HOUR, -5 * 365 * 24 * HOUR])
def test_a_member_on_a_wrong_clock_is_renewed_as_on_a_right_one(make_widget: MakeWidget, ahead: float) -> None:
    """F053: the widget must call `getToken` once an hour, a minute before the token expires."""
    widget = make_widget(custom_login=True, server_ahead=ahead)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.start()
    widget.advance(2 * HOUR)

    assert [call.reason for call in widget.all(effects.CallGetToken)] == ["load", "renew", "renew"]
    assert widget.identity == ADA
    assert widget.errors() == []


@pytest.mark.contract("D-12/clock-skew")
@pytest.mark.parametrize("ahead", [0, -5 * 365 * 24 * HOUR])
def test_a_token_that_had_ended_is_seen_by_the_servers_time(make_widget: MakeWidget, ahead: float) -> None:
    """F051: according to the server's `hello`, the token has expired.

    The widget must not send the token, and must request at most two new tokens.
    """
    widget = make_widget(custom_login=True, server_ahead=ahead, answers_tokens=False)
    ended = {"iat": widget.server_now - 2 * HOUR, "exp": widget.server_now - HOUR}
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(**ended))

    widget.start()
    widget.answers_tokens = True
    widget.advance(600)

    assert [call.reason for call in widget.all(effects.CallGetToken)] == ["load", "renew"]
    assert widget.errors() == [Fault.TOKEN_EXPIRED]
    assert widget.stored is None
    assert widget.connects() == []


@pytest.mark.contract("D-12/clock-skew")
@pytest.mark.parametrize("seconds", [3 * HOUR, -3 * HOUR])
def test_changing_the_clock_does_not_end_a_membership(member: Driver, seconds: float) -> None:
    """F053: the page's clock jumps by three hours. The widget must not treat the new token as expired."""
    told = len(member.emitted("identity:changed"))

    set_the_pages_clock(member, seconds)
    member.advance(60)
    member.feed(*WAKING)
    member.advance(600)

    assert member.identity == ADA
    assert member.errors() == []
    assert len(member.emitted("identity:changed")) == told


def test_a_token_that_had_ended_is_seen_after_sleep_too(member: Driver) -> None:
    """F051: after a sleep, the backend returns an expired token.

    The widget must ask twice, and must then become a visitor.
    """
    old = member.custom()
    member.page = lambda call: events.GetTokenReturned(call.ref, old)

    member.sleep(3 * HOUR)
    member.advance(600)

    assert [call.reason for call in member.all(effects.CallGetToken)] == ["load", "renew", "renew"]
    assert member.identity == VISITOR
    assert member.stored is None


@pytest.mark.contract("2.6/refresh", "D-10/reconnect")
@pytest.mark.parametrize("timers_first", [True, False])
def test_several_wake_ups_at_once_cause_one_request_and_one_socket(visitor: Driver, *, timers_first: bool) -> None:
    """WDG-019, F062: after three hours, the widget must request a token and then open a socket.

    Any event may be the first.
    """
    before = len(visitor.done)
    if timers_first:
        visitor.sleep(3 * HOUR)
        visitor.feed(*WAKING)
    else:
        visitor.now += 3 * HOUR
        visitor.feed(*WAKING)
        visitor.sleep(0)
    visitor.advance(10)

    order = names_of(visitor.done[before:])
    assert order.index("LoadVisitorToken") < order.index("OpenSocket")
    assert (order.count("LoadVisitorToken"), order.count("OpenSocket")) == (1, 1)
    assert visitor.frames(Kind.REFRESH) == []
    assert visitor.view.link == "online"


@pytest.mark.contract("2.6/refresh")
@pytest.mark.parametrize("open_for", [0, 1, 24, 26, 49])
def test_a_hidden_tab_is_refreshed_a_little_later_and_stays_connected(visitor: Driver, open_for: int) -> None:
    """F061: in a hidden tab, browsers fire timers once a minute, so a refresh may be a minute late.

    The socket must stay open.
    """
    visitor.advance(open_for)
    in_hidden_tab(visitor, minutes=30)

    assert len(visitor.frames(Kind.REFRESH)) == 30
    assert (visitor.counts()["OpenSocket"], visitor.counts()["CloseSocket"]) == (1, 0)
    assert visitor.emitted("socket:lost") == []


def test_a_hidden_tab_answers_the_server_at_once(visitor: Driver) -> None:
    """F061: a hidden tab receives frames without delay, although its timers are delayed.

    A frame must therefore trigger the renewal of an expiring token.
    """
    visitor.now += 30
    visitor.frame(type="reauth", deadline=visitor.server_now + 30)

    assert len(visitor.frames(Kind.REFRESH)) == 1


@pytest.mark.contract("3/renewal")
def test_a_member_in_a_hidden_tab_is_renewed_before_the_end(member: Driver) -> None:
    """F061: timers may be up to a minute late.

    The widget must request the next token a minute before the current token expires.
    """
    member.advance(59)
    in_hidden_tab(member, minutes=59)

    (renewed,) = member.frames(Kind.REFRESH)
    assert member.server_now < NOW + HOUR
    assert renewed["token"] == member.stored
    assert member.emitted("socket:lost") == []


@pytest.mark.parametrize(
    ("lifetime", "calls"),
    [pytest.param(20, 6, id="20-s"), pytest.param(70, 2, id="70-s"), pytest.param(1, 6, id="1-s")],
)
def test_how_often_a_short_lived_token_is_renewed(make_widget: MakeWidget, lifetime: int, calls: int) -> None:
    """F056: the widget must renew the token after half of the token's lifetime, but not within ten seconds."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(exp=widget.server_now + lifetime))
    widget.start()

    before = len(widget.all(effects.CallGetToken))
    widget.advance(max(60, lifetime))

    assert len(widget.all(effects.CallGetToken)) - before == calls
    assert clock_warnings(widget)[:1] == (["short_lifetime"] if lifetime < 60 else [])


def test_small_differences_of_the_clock_are_no_skew() -> None:
    """A difference of two seconds is within the precision of the measurement.

    The widget must correct a difference of a minute, but must not warn about it.
    """
    time = ServerTime()

    assert (time.learn(NOW - 2, NOW), time.offset) == (None, 0.0)
    assert (time.learn(NOW + 60, NOW), time.offset) == (None, 60.0)
    assert (time.learn(NOW + 61, NOW), time.offset) == (-61.0, 61.0)
    assert math.isclose(time.at(NOW), NOW + 61)


@pytest.mark.contract("D-12/always-chat")
def test_a_member_who_opens_the_page_every_few_hours_stays_a_member(member: Driver) -> None:
    """F062: the token expired while the phone slept.

    The server has not refused the token, so the widget must ask the page for a new one.
    """
    for _ in range(3):
        member.now += 3 * HOUR
        member.feed(events.Woken("visible"))
        member.advance(20)

    assert member.identity == ADA
    assert member.errors() == []


def test_a_backend_with_tokens_that_end_at_once_is_asked_twice(member: Driver) -> None:
    """A token that expires within moments is useless. After two such tokens, the widget must stop asking the page."""
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(exp=member.server_now + 20))
    calls = member.counts()["CallGetToken"]

    for _ in range(2):
        member.now += 21
        member.close(Close.TOKEN_EXPIRED)
    member.advance(HOUR)

    assert member.identity == VISITOR
    assert member.counts()["CallGetToken"] - calls == 1


@pytest.mark.contract("D-12/clock-skew")
@pytest.mark.parametrize(("claims", "told"), [({"iat": int(NOW) + HOUR}, ["clock_skew"]), ({}, [])])
def test_only_a_token_with_iat_gives_the_time(make_widget: MakeWidget, claims: dict[str, int], told: list[str]) -> None:
    """`iat` is optional. If a token has no `iat`, the widget must get the time from the server's `hello`."""
    widget = make_widget(answers_tokens=False, answers_frames=False).start()
    token = jwt(pid=PID, uid=KEY.uid, type="visitor", exp=int(NOW) + 2 * HOUR, **claims)

    widget.feed(events.TokenLoaded(widget.last(effects.LoadVisitorToken).ref, token, "wss://chat.test/v1/socket"))

    assert clock_warnings(widget) == told
    assert widget.sockets() == 1
