"""Tests of visitor mode, the default identity, and of the conditions under which the widget starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import KEY, VISITOR, Driver

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.context import Settings
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.texts.english import ENGLISH

if TYPE_CHECKING:
    from tests.widget.driver import MakeWidget


@pytest.mark.contract("3/first-open", "2.3/silent", "1/mode-visitor", "5.2/visitor")
def test_the_widget_first_connects_as_the_visitor_of_its_key(visitor: Driver) -> None:
    """The widget must derive the uid from the key, get a token for the uid, and open the socket with this token."""
    assert visitor.last(effects.LoadVisitorToken).uid == KEY.uid
    assert visitor.all(effects.CallGetToken) == []
    assert visitor.identity == VISITOR
    assert visitor.emitted("ready") == [{"identity": "visitor", "uid": KEY.uid}]
    assert visitor.view.link == "online"
    assert not visitor.view.person.member


@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_the_token_is_refreshed_every_50_seconds_and_the_socket_stays(visitor: Driver) -> None:
    """In two and a half minutes, the widget must send three `refresh` frames with new tokens on one socket."""
    visitor.advance(155)

    assert len(visitor.frames(Kind.REFRESH)) == 3
    assert visitor.counts()["OpenSocket"] == 1
    assert visitor.counts()["CloseSocket"] == 0


@pytest.mark.contract("2.6/memory-only", "D-06/identity-cached")
def test_tokens_of_our_endpoints_are_never_stored(visitor: Driver) -> None:
    visitor.advance(120)

    assert visitor.all(effects.StoreToken) == []


@pytest.mark.contract("5.6/secure-context")
def test_an_insecure_page_connects_nothing_and_says_why(make_widget: MakeWidget) -> None:
    """F001: the widget must report one error that says what to do.

    It must not create a key, send a request, or call `getToken`.
    """
    widget = make_widget(custom_login=True).start(secure=False)

    assert widget.errors() == [Fault.INSECURE_CONTEXT]
    assert "https" in str(widget.emitted("error")[0]["remediation"])
    assert widget.counts() == {"Emit": 1, "Show": 1}
    assert widget.view.notice == "The chat needs a secure (https) page."


def test_a_browser_without_keys_is_reported_once(make_widget: MakeWidget) -> None:
    """F002: the widget cannot connect without a key. It must report one error."""
    widget = make_widget()

    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.KeyFailed("crypto.subtle is missing."))

    assert widget.errors() == [Fault.KEY_UNAVAILABLE]
    assert widget.all(effects.OpenSocket) == []


def test_a_key_that_is_late_is_reported_once_and_requested_again(make_widget: MakeWidget) -> None:
    """F223: the third attempt works. Then the notice must be gone."""
    widget = make_widget()
    widget.machine.handle(events.Started(secure=True), widget.now)
    notices = []
    for seconds in (1, 2):
        for effect in widget.machine.handle(events.KeyTimedOut(), widget.now):
            widget.done.append(effect)
            if isinstance(effect, effects.SetTimer):
                assert (effect.name, effect.seconds) == ("key", seconds)
        notices.append(widget.view.notice)
        asked = widget.machine.handle(events.TimerFired("key"), widget.now)
        assert asked == [effects.PrepareKey()]

    widget.feed(events.KeyReady(KEY))

    assert widget.errors() == [Fault.KEY_TIMEOUT]
    assert notices == [ENGLISH.notices["unreachable"]] * 2
    assert widget.view.notice is None
    assert widget.identity == VISITOR


@pytest.mark.contract("D-12/always-chat")
def test_a_key_in_memory_only_is_reported_and_used(make_widget: MakeWidget) -> None:
    """F003, F009: the widget must report that the storage failed or is corrupted.

    The visitor must be able to chat anyway.
    """
    widget = make_widget()

    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.KeyReady(KEY, degraded="SecurityError", lost="corrupt"))

    assert widget.emitted("storage:degraded") == [{"what": "key", "reason": "SecurityError"}]
    assert widget.emitted("key:lost") == [{"reason": "corrupt"}]
    assert widget.identity == VISITOR


@pytest.mark.contract("4.8/config")
def test_a_configuration_without_provider_starts_nothing() -> None:
    """The widget must report a missing `providerId` as an error, and must not raise an exception."""
    widget = Driver(Settings("https://chat.test", "https://chat.test", "https://x", ""))

    widget.feed(events.Started(secure=True, fault=WidgetError(Fault.CONFIG_INVALID, "providerId must be a text.")))

    assert widget.errors() == [Fault.CONFIG_INVALID]
    assert widget.all(effects.PrepareKey) == []


def test_a_get_token_that_is_no_function_leaves_the_visitor(make_widget: MakeWidget) -> None:
    """F048: the widget must report `config_invalid`, and the visitor must be able to chat."""
    widget = make_widget()

    widget.feed(events.Started(secure=True, fault=WidgetError(Fault.CONFIG_INVALID, "getToken must be a function.")))

    assert widget.errors() == [Fault.CONFIG_INVALID]
    assert widget.identity == VISITOR


def test_an_unknown_provider_stops_the_widget(make_widget: MakeWidget) -> None:
    widget = make_widget(answers_tokens=False).start()

    widget.feed(events.TokenFailed(widget.last(effects.LoadVisitorToken).ref, 404, "provider_unknown", "No such one."))
    widget.advance(300)

    assert widget.errors() == ["provider_unknown"]
    assert widget.counts()["LoadVisitorToken"] == 1


def test_a_failing_configuration_is_requested_again_and_reported_once(make_widget: MakeWidget) -> None:
    """F086: the widget must stay hidden, and the visitor must be connected."""
    widget = make_widget()
    widget.feed(events.ConfigurationFailed(500), events.ConfigurationFailed(500))

    assert widget.errors() == [Fault.CONFIGURATION_UNREACHABLE]
    seen = [widget.view.visible]
    widget.advance(10)
    assert [*seen, widget.view.visible] == [False, True]


@pytest.mark.contract("4.1/edge-cache")
def test_an_admin_change_reaches_an_open_panel_within_a_minute_or_so(visitor: Driver) -> None:
    """While the panel is open, the widget must reload a configuration that is 60 seconds old."""
    visitor.advance(200)
    assert visitor.counts()["LoadConfiguration"] == 1
    visitor.socials = ["github"]

    visitor.feed(events.PanelToggled(open=True))

    assert visitor.view.appearance.socials == ("github",)
    visitor.advance(120)
    assert 2 < visitor.counts()["LoadConfiguration"] <= 4


def test_a_ready_frame_for_another_person_is_refused(make_widget: MakeWidget) -> None:
    """The server calls a visitor a member. The widget must drop the connection, so that identities are not mixed."""
    widget = make_widget(answers_frames=False).start()
    ref = widget.last(effects.OpenSocket).ref
    time = {"server_time": widget.server_now}
    hello = {"type": "hello", "nonce": "n", "auth_timeout": 10, "ping": 25, **time}
    ready = {"type": "ready", "identity": "member", "uid": "ada", "expires_at": widget.server_now + 60, **time}

    for frame in (hello, ready):
        for effect in widget.machine.handle(events.FrameReceived(ref, frame), widget.now):
            widget.done.append(effect)

    assert widget.errors() == [Fault.FRAME_UNREADABLE]
    assert widget.emitted("ready") == []


def test_unexpected_answers_are_ignored(visitor: Driver) -> None:
    """A token, frame or close of an earlier connection must change nothing."""
    visitor.close(1006)
    visitor.advance(1)
    before = len(visitor.done)

    visitor.feed(
        events.TokenLoaded(1, "a.b.c", "wss://evil.test"),
        events.FrameReceived(1, {"type": "message", "id": "m", "seq": 1, "sender": "agent", "body": "b", "sent_at": 1}),
        events.SocketClosed(1, Close.TOKEN),
        events.SocketOpened(1),
    )

    assert visitor.done[before:] == []


@pytest.mark.contract("D-12/clock-skew")
@pytest.mark.parametrize("ahead", [3600, -3600, 5 * 365 * 86_400, -86_400])
def test_a_wrong_clock_is_reported_once_and_the_widget_connects(make_widget: MakeWidget, ahead: float) -> None:
    """F053: the widget must get the server's time, use this time for the proof's `iat`, and warn once."""
    widget = make_widget(server_ahead=ahead).start()

    widget.advance(200)

    warnings = widget.emitted("warning")
    assert [warning["code"] for warning in warnings] == ["clock_skew"]
    assert warnings[0]["seconds"] == pytest.approx(-ahead, abs=1)
    proofs = widget.emitted("socket:proof")
    assert len(proofs) == 1
    claims = proofs[0]["claims"]
    assert isinstance(claims, dict)
    assert claims["iat"] == pytest.approx(widget.server_now - 200, abs=2)


def test_shutdown_leaves_nothing_behind(visitor: Driver) -> None:
    """F073: shutdown must close the socket, cancel all timers, and remove the screen.

    The widget must ignore later events.
    """
    visitor.feed(events.PanelToggled(open=True), events.ShutdownAsked())
    after = len(visitor.done)

    visitor.feed(events.Woken("online"), events.LogoutAsked(), events.PanelToggled(open=True))

    assert visitor.socket is None
    assert visitor.timers == {}
    assert visitor.counts()["TearDown"] == 1
    assert visitor.done[after:] == []


def test_shutdown_ends_the_wait_for_a_call_to_leave_the_screen(visitor: Driver) -> None:
    """F073: no part of the widget may leave a timer."""
    visitor.feed(events.CallAsked("start"))
    visitor.frame(type="call", call_id="c1", state="ended")
    waited_for = set(visitor.timers)

    visitor.feed(events.ShutdownAsked())

    assert "call" in waited_for
    assert visitor.timers == {}


def test_the_page_hears_once_that_the_widget_is_ready(visitor: Driver) -> None:
    visitor.close(1006)
    visitor.advance(2)

    assert len(visitor.emitted("socket:ready")) == 2
    assert len(visitor.emitted("ready")) == 1


@pytest.mark.parametrize(("retry_after", "waits"), [(None, 0.5), (7.0, 7.0)])
def test_a_configuration_is_not_asked_for_again_too_soon(
    make_widget: MakeWidget, retry_after: float | None, waits: float
) -> None:
    """F086: the widget must wait at least half a second, and at least as long as `Retry-After` says."""
    widget = make_widget()
    widget.chance.value = 0.0

    widget.feed(events.ConfigurationFailed(503, retry_after=retry_after))

    assert widget.timers["configuration"] - widget.now == waits


@pytest.mark.contract("4.9/one-time")
def test_every_proof_has_its_own_id(visitor: Driver) -> None:
    visitor.close(1006)
    visitor.advance(2)

    proofs = [proof["claims"] for proof in visitor.emitted("socket:proof")]
    ids = [str(claims["jti"]) for claims in proofs if isinstance(claims, dict)]
    assert len(set(ids)) == 2
    assert all(each.startswith("chance-") for each in ids)


@pytest.mark.contract("4.9/proof")
def test_a_ready_frame_before_the_proof_is_refused(make_widget: MakeWidget) -> None:
    """Before the proof, the server cannot know who the person is."""
    widget = make_widget(answers_frames=False).start()
    ready = {"type": "ready", "identity": "visitor", "uid": KEY.uid, "expires_at": widget.server_now + 60}

    widget.feed(events.FrameReceived(widget.last(effects.OpenSocket).ref, ready | {"server_time": widget.server_now}))

    assert widget.emitted("ready") == []
    assert widget.view.link == "connecting"


def test_opening_the_panel_asks_for_a_configuration_that_was_refused(make_widget: MakeWidget) -> None:
    """The provider was switched off, and has been switched on again."""
    widget = make_widget()
    widget.feed(events.KeyReady(KEY), events.ConfigurationFailed(403, "provider_off", "Switched off."))
    stopped = widget.view.link, widget.counts()["LoadConfiguration"]

    widget.feed(events.PanelToggled(open=True))

    assert stopped == ("stopped", 0)
    assert (widget.view.link, widget.counts()["LoadConfiguration"]) == ("online", 1)
