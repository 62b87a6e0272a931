"""Visitor mode: the identity that is always there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.conftest import KEY

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault, WidgetError

if TYPE_CHECKING:
    from tests.widget.conftest import Driver, MakeWidget


@pytest.mark.contract("3/first-open", "2.3/silent", "1/mode-visitor", "5.2/visitor")
def test_the_first_open_connects_as_the_visitor_of_the_key(visitor: Driver) -> None:
    """Nothing is asked of anyone: the key makes the uid, the uid gets a token, the token opens the socket."""
    assert visitor.last(effects.LoadVisitorToken).uid == KEY.uid
    assert visitor.all(effects.CallGetToken) == []
    assert visitor.identity == ("visitor", KEY.uid)
    assert visitor.emitted("ready") == [{"identity": "visitor", "uid": KEY.uid}]
    assert visitor.view.link == "online"
    assert not visitor.view.person.member


@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_the_token_is_refreshed_every_50_seconds_and_the_socket_stays(visitor: Driver) -> None:
    """Three refreshes in two and a half minutes, on one socket, each with a new token in a `refresh` frame."""
    visitor.advance(155)

    assert len(visitor.frames(Kind.REFRESH)) == 3
    assert visitor.counts()["OpenSocket"] == 1
    assert visitor.counts()["CloseSocket"] == 0


@pytest.mark.contract("2.6/memory-only", "D-06/identity-cached")
def test_tokens_of_our_endpoints_are_never_stored(visitor: Driver) -> None:
    """The visitor's socket token stays in memory."""
    visitor.advance(120)

    assert visitor.all(effects.StoreToken) == []


@pytest.mark.contract("5.6/secure-context")
def test_an_insecure_page_connects_nothing_and_says_why(make_widget: MakeWidget) -> None:
    """F001: one error with its remedy; no key, no request, no socket, no getToken."""
    widget = make_widget(custom_login=True).start(secure=False)

    assert widget.errors() == [Fault.INSECURE_CONTEXT]
    assert "https" in str(widget.emitted("error")[0]["remediation"])
    assert widget.counts() == {"Emit": 1, "Show": 1}
    assert widget.view.notice == "Chat needs a secure (https) page."


def test_a_browser_without_keys_is_told_once(make_widget: MakeWidget) -> None:
    """F002: no key, no connection, one error."""
    widget = make_widget()

    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.KeyFailed("crypto.subtle is missing."))

    assert widget.errors() == [Fault.KEY_UNAVAILABLE]
    assert widget.all(effects.OpenSocket) == []


@pytest.mark.contract("D-12/always-chat")
def test_a_key_in_memory_only_is_told_and_used(make_widget: MakeWidget) -> None:
    """F003, F009: storage that fails or was spoilt is named; the visitor chats all the same."""
    widget = make_widget()

    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.KeyReady(KEY, degraded="SecurityError", lost="corrupt"))

    assert widget.emitted("storage:degraded") == [{"what": "key", "reason": "SecurityError"}]
    assert widget.emitted("key:lost") == [{"reason": "corrupt"}]
    assert widget.identity == ("visitor", KEY.uid)


@pytest.mark.contract("4.8/config")
def test_a_configuration_without_provider_starts_nothing(make_widget: MakeWidget) -> None:
    """A missing providerId is an error by name, not an exception."""
    widget = make_widget()
    widget.machine._ctx.settings = type(widget.settings)("https://chat.test", "https://chat.test", "https://x", "")

    widget.feed(events.Started(secure=True, fault=WidgetError(Fault.CONFIG_INVALID, "providerId must be a text.")))

    assert widget.errors() == [Fault.CONFIG_INVALID]
    assert widget.all(effects.PrepareKey) == []


def test_a_get_token_that_is_no_function_leaves_the_visitor(make_widget: MakeWidget) -> None:
    """F048: config_invalid, and the visitor can chat."""
    widget = make_widget()

    widget.feed(events.Started(secure=True, fault=WidgetError(Fault.CONFIG_INVALID, "getToken must be a function.")))

    assert widget.errors() == [Fault.CONFIG_INVALID]
    assert widget.identity == ("visitor", KEY.uid)


@pytest.mark.parametrize("code", [1006, 1001, 1011, Close.RESTART, Close.TRY_LATER, Close.NONCE, Close.AUTH_TIMEOUT])
@pytest.mark.contract("D-10/close-codes", "D-10/reconnect")
def test_a_lost_socket_is_reopened_with_a_fresh_token(visitor: Driver, code: int) -> None:
    """No close code but those about the token says anything about identity."""
    visitor.close(code)

    links = [visitor.view.link]
    visitor.advance(10)

    assert [*links, visitor.view.link] == ["offline", "online"]
    assert visitor.counts()["LoadVisitorToken"] == 2
    assert visitor.errors() == []


@pytest.mark.contract("D-10/reconnect")
def test_reconnecting_backs_off_with_jitter_and_a_cap(make_widget: MakeWidget) -> None:
    """The waits double up to 30 seconds, each scaled by chance; being unreachable is told once."""
    widget = make_widget(answers_frames=False)
    widget.start()
    for _ in range(8):
        widget.socket = widget.last(effects.OpenSocket).ref
        widget.close(1006)
        widget.advance(float(str(widget.emitted("socket:waiting")[-1]["seconds"])))

    waits = [detail["seconds"] for detail in widget.emitted("socket:waiting")]
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]
    assert widget.errors() == [Fault.SOCKET_UNREACHABLE]


def test_jitter_scales_the_wait(visitor: Driver) -> None:
    """Full jitter: chance decides between no wait and all of it."""
    visitor.chance.value = 0.25

    visitor.close(1006)

    assert visitor.emitted("socket:waiting")[-1]["seconds"] == 0.25


@pytest.mark.parametrize("stage", ["hello", "ready"])
def test_a_silent_server_is_left_after_10_seconds(make_widget: MakeWidget, stage: str) -> None:
    """F139: whether it never greets or never accepts, the widget gives up and tries again."""
    widget = make_widget(answers_frames=False)
    widget.start()
    ref = widget.last(effects.OpenSocket).ref
    if stage == "ready":
        hello = {"type": "hello", "nonce": "n", "server_time": widget.server_now, "auth_timeout": 10, "ping": 25}
        for effect in widget.machine.handle(events.FrameReceived(ref, hello), widget.now):
            widget.done.append(effect)

    widget.advance(9)
    assert widget.all(effects.CloseSocket) == []
    widget.advance(1)

    assert widget.last(effects.CloseSocket).ref == ref
    assert widget.emitted("socket:lost") == [{"why": "timeout"}]
    assert widget.errors() == []


def test_a_mute_socket_is_replaced(visitor: Driver) -> None:
    """F090: two pings without any answer, and the third beat opens a new socket."""
    visitor.answers_frames = False

    visitor.advance(80)

    assert visitor.emitted("socket:lost") == [{"why": "mute"}]
    assert visitor.counts()["OpenSocket"] == 2


def test_waking_up_probes_the_socket_once(visitor: Driver) -> None:
    """F062: three reasons to look in one moment make one ping; without an answer the socket is replaced in 5 s."""
    visitor.answers_frames = False

    visitor.feed(events.Woken("visible"), events.Woken("online"), events.Woken("pageshow"))

    assert len(visitor.frames(Kind.PING)) == 1
    visitor.advance(5)
    assert visitor.emitted("socket:lost") == [{"why": "mute"}]


def test_waking_up_with_a_living_socket_changes_nothing(visitor: Driver) -> None:
    """The positive twin: the pong arrives and the socket stays."""
    visitor.feed(events.Woken("online"))
    visitor.advance(20)

    assert visitor.emitted("socket:lost") == []
    assert visitor.counts()["OpenSocket"] == 1


def test_a_jump_in_time_refreshes_first_and_reconnects_second(visitor: Driver) -> None:
    """After three hours of sleep: one new token, then one new socket, the same visitor."""
    before = len(visitor.done)

    visitor.sleep(10_800)

    order = [type(effect).__name__ for effect in visitor.done[before:]]
    assert order.index("LoadVisitorToken") < order.index("OpenSocket")
    assert order.count("OpenSocket") == 1
    assert visitor.identity == ("visitor", KEY.uid)
    assert len(visitor.emitted("identity:changed")) == 1


@pytest.mark.contract("D-12/no-hammering")
def test_a_refused_visitor_is_not_tried_for_ever(make_widget: MakeWidget) -> None:
    """F138: 4401 for ever makes two attempts, then silence and a plain word."""
    widget = make_widget(verdict=lambda _: ("token_signature", Close.TOKEN)).start()

    widget.advance(300)

    assert widget.counts()["OpenSocket"] == 2
    assert widget.errors() == ["token_signature"]
    assert widget.view.link == "stopped"


@pytest.mark.parametrize("code", ["provider_off", "origin_not_allowed", "insecure_origin"])
def test_a_refusal_of_the_page_or_provider_stops_at_once(make_widget: MakeWidget, code: str) -> None:
    """No other token would be accepted, so none is tried."""
    widget = make_widget(verdict=lambda _: (code, Close.FORBIDDEN)).start()

    widget.advance(300)

    assert widget.counts()["OpenSocket"] == 1
    assert widget.errors() == [code]
    assert widget.view.notice


@pytest.mark.parametrize(
    ("status", "code", "retry_after", "waits"),
    [(0, None, None, 1.0), (503, "unavailable", None, 1.0), (429, "rate_limited", 7.0, 7.0)],
)
def test_a_token_endpoint_that_fails_is_asked_again(
    make_widget: MakeWidget, status: int, code: str | None, retry_after: float | None, waits: float
) -> None:
    """F087: later, and not before `Retry-After` has passed."""
    widget = make_widget(answers_tokens=False).start()
    ref = widget.last(effects.LoadVisitorToken).ref

    widget.feed(events.TokenFailed(ref, status, code, "No.", retry_after))
    widget.answers_tokens = True
    widget.advance(waits - 0.01)
    assert widget.counts()["LoadVisitorToken"] == 1
    widget.advance(0.01)

    assert widget.identity == ("visitor", KEY.uid)
    assert widget.errors() == []


def test_a_refresh_that_fails_keeps_the_socket(visitor: Driver) -> None:
    """The connection is not given up for a token that may come a second later."""
    visitor.answers_tokens = False
    visitor.advance(50)

    visitor.feed(events.TokenFailed(visitor.last(effects.LoadVisitorToken).ref, 503))
    visitor.answers_tokens = True
    visitor.advance(1)

    assert len(visitor.frames(Kind.REFRESH)) == 1
    assert visitor.counts()["CloseSocket"] == 0


def test_a_refresh_that_fails_is_not_asked_again_within_the_second(visitor: Driver) -> None:
    """However small the jitter drawn, an endpoint in trouble is left alone for a second."""
    visitor.chance.value = 0.0
    visitor.answers_tokens = False
    visitor.advance(50)

    visitor.feed(events.TokenFailed(visitor.last(effects.LoadVisitorToken).ref, 503))
    visitor.advance(0.99)
    asked_within_the_second = visitor.counts()["LoadVisitorToken"]
    visitor.advance(0.01)

    assert asked_within_the_second == 2
    assert visitor.counts()["LoadVisitorToken"] == 3


def test_a_refresh_under_way_is_not_asked_for_twice(visitor: Driver) -> None:
    """F062: the server's `reauth` finds the token already being fetched."""
    visitor.answers_tokens = False
    visitor.advance(50)

    visitor.frame(type="reauth", deadline=visitor.server_now + 30)

    assert visitor.counts()["LoadVisitorToken"] == 2


def test_a_late_token_answer_of_a_lost_connection_is_ignored(visitor: Driver) -> None:
    """It belongs to a connection that is no more, and must not delay the next one."""
    visitor.answers_tokens = False
    visitor.advance(50)
    ref = visitor.last(effects.LoadVisitorToken).ref
    visitor.close(1006)

    visitor.feed(events.TokenFailed(ref, 503, retry_after=600))

    assert len(visitor.emitted("socket:waiting")) == 1
    assert visitor.timers["reconnect"] - visitor.now == 1


def test_an_unknown_provider_stops_the_widget(make_widget: MakeWidget) -> None:
    """404 is nothing to retry."""
    widget = make_widget(answers_tokens=False).start()

    widget.feed(events.TokenFailed(widget.last(effects.LoadVisitorToken).ref, 404, "provider_unknown", "No such one."))
    widget.advance(300)

    assert widget.errors() == ["provider_unknown"]
    assert widget.counts()["LoadVisitorToken"] == 1


def test_a_configuration_that_fails_is_asked_again_and_told_once(make_widget: MakeWidget) -> None:
    """F086: the widget stays hidden, not broken, and the visitor is connected meanwhile."""
    widget = make_widget()
    widget.feed(events.ConfigurationFailed(500), events.ConfigurationFailed(500))

    assert widget.errors() == [Fault.CONFIGURATION_UNREACHABLE]
    seen = [widget.view.visible]
    widget.advance(10)
    assert [*seen, widget.view.visible] == [False, True]


@pytest.mark.contract("4.1/edge-cache")
def test_an_admin_change_reaches_an_open_panel_within_a_minute_or_so(visitor: Driver) -> None:
    """While the panel is open the configuration is asked again once it is 60 seconds old; closed, it is not."""
    visitor.advance(200)
    assert visitor.counts()["LoadConfiguration"] == 1
    visitor.socials = ["github"]

    visitor.feed(events.PanelToggled(open=True))

    assert visitor.view.appearance.socials == ("github",)
    visitor.advance(120)
    assert 2 < visitor.counts()["LoadConfiguration"] <= 4


@pytest.mark.parametrize("frame", [None, {"type": "hello"}, {"type": "hello", "nonce": 5, "server_time": 1, "ping": 2}])
def test_a_frame_that_cannot_be_read_leads_to_a_new_connection(
    make_widget: MakeWidget, frame: dict[str, object] | None
) -> None:
    """The error names the member; nothing crashes."""
    widget = make_widget(answers_frames=False).start()

    widget.feed(events.FrameReceived(widget.last(effects.OpenSocket).ref, frame))

    assert widget.errors() == [Fault.FRAME_UNREADABLE]
    assert widget.view.link == "offline"


def test_a_server_that_accepts_someone_else_is_not_believed(make_widget: MakeWidget) -> None:
    """A visitor who is told to be a member drops the connection instead of mixing identities."""
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


def test_answers_that_nobody_awaits_are_ignored(visitor: Driver) -> None:
    """A token, frame or close of an earlier connection changes nothing."""
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
def test_a_wrong_clock_is_told_once_and_does_no_harm(make_widget: MakeWidget, ahead: float) -> None:
    """F053: the server's time is learned; the proof's `iat` is in it; one warning."""
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
    """F073: socket closed, no timer left, screen torn down, later events ignored."""
    visitor.feed(events.PanelToggled(open=True), events.ShutdownAsked())
    after = len(visitor.done)

    visitor.feed(events.Woken("online"), events.LogoutAsked(), events.PanelToggled(open=True))

    assert visitor.socket is None
    assert visitor.timers == {}
    assert visitor.counts()["TearDown"] == 1
    assert visitor.done[after:] == []


def test_the_page_hears_once_that_the_widget_is_ready(visitor: Driver) -> None:
    """However often the socket comes back."""
    visitor.close(1006)
    visitor.advance(2)

    assert len(visitor.emitted("socket:ready")) == 2
    assert len(visitor.emitted("ready")) == 1


def test_a_refusal_long_ago_is_forgotten(visitor: Driver) -> None:
    """F138: only refusals in a row make the widget give up."""
    for _ in range(3):
        visitor.close(Close.TOKEN)
        visitor.advance(120)

    assert visitor.view.link == "online"
    assert visitor.errors() == []


def test_a_token_that_ended_is_no_refusal(visitor: Driver) -> None:
    """However often in a row: the next one may be good."""
    for _ in range(3):
        visitor.close(Close.TOKEN_EXPIRED)
        visitor.advance(10)

    assert visitor.view.link == "online"
    assert visitor.errors() == []


def test_a_refresh_revives_a_widget_that_was_stopped(make_widget: MakeWidget) -> None:
    """The page says that something changed, so it is tried again."""
    widget = make_widget(verdict=lambda _: ("token_signature", Close.TOKEN)).start()
    widget.advance(300)
    stopped = widget.view.link
    widget.verdict = lambda _: None

    widget.feed(events.RefreshAsked())

    assert (stopped, widget.view.link) == ("stopped", "online")


@pytest.mark.parametrize(("retry_after", "waits"), [(None, 0.5), (7.0, 7.0)])
def test_a_configuration_is_not_asked_for_again_too_soon(
    make_widget: MakeWidget, retry_after: float | None, waits: float
) -> None:
    """F086: after half a second at the earliest, and not before `Retry-After` has passed."""
    widget = make_widget()
    widget.chance.value = 0.0

    widget.feed(events.ConfigurationFailed(503, retry_after=retry_after))

    assert widget.timers["configuration"] - widget.now == waits


@pytest.mark.contract("4.9/one-time")
def test_a_proof_has_an_id_of_its_own(visitor: Driver) -> None:
    """Made by chance for every proof, and by nobody else."""
    visitor.close(1006)
    visitor.advance(2)

    proofs = [proof["claims"] for proof in visitor.emitted("socket:proof")]
    ids = [str(claims["jti"]) for claims in proofs if isinstance(claims, dict)]
    assert len(set(ids)) == 2
    assert all(each.startswith("chance-") for each in ids)


@pytest.mark.contract("4.9/proof")
def test_a_server_that_accepts_before_the_proof_is_not_believed(make_widget: MakeWidget) -> None:
    """It cannot know yet who this is."""
    widget = make_widget(answers_frames=False).start()
    ready = {"type": "ready", "identity": "visitor", "uid": KEY.uid, "expires_at": widget.server_now + 60}

    widget.feed(events.FrameReceived(widget.last(effects.OpenSocket).ref, ready | {"server_time": widget.server_now}))

    assert widget.emitted("ready") == []
    assert widget.view.link == "connecting"


@pytest.mark.contract("D-12/always-chat")
def test_opening_the_panel_tries_again_what_was_refused(make_widget: MakeWidget) -> None:
    """F138: who wants to chat is not sent away for what was wrong an hour ago; who does not look, asks for nothing."""
    widget = make_widget(verdict=lambda _: ("token_signature", Close.TOKEN)).start()
    widget.advance(300)
    sockets = widget.counts()["OpenSocket"]
    widget.feed(events.PanelToggled(open=True))
    tried = widget.counts()["OpenSocket"]
    widget.advance(300)
    refused = widget.counts()["OpenSocket"], widget.view.link
    widget.verdict = lambda _: None

    widget.feed(events.PanelToggled(open=False))
    closed = widget.counts()["OpenSocket"]
    for is_open in (True, False, True):
        widget.feed(events.PanelToggled(is_open))

    assert (tried, refused) == (sockets + 1, (sockets + 2, "stopped"))
    assert (closed, widget.counts()["OpenSocket"]) == (sockets + 2, sockets + 3)
    assert widget.view.link == "online"
    assert widget.view.notice is None


def test_opening_the_panel_asks_for_a_configuration_that_was_refused(make_widget: MakeWidget) -> None:
    """A provider that was switched off and is on again."""
    widget = make_widget()
    widget.feed(events.KeyReady(KEY), events.ConfigurationFailed(403, "provider_off", "Switched off."))
    stopped = widget.view.link, widget.counts()["LoadConfiguration"]

    widget.feed(events.PanelToggled(open=True))

    assert stopped == ("stopped", 0)
    assert (widget.view.link, widget.counts()["LoadConfiguration"]) == ("online", 1)
