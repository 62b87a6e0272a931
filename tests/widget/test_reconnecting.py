"""Tests of when the widget reconnects after a lost, silent, refused or malformed connection.

`test_network` tests what networks and proxies do to connections.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import KEY, NOW, PID, VISITOR, jwt

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget

URI = "wss://chat.test/v1/socket"


@pytest.mark.parametrize("code", [1006, 1001, 1011, Close.RESTART, Close.TRY_LATER, Close.NONCE, Close.AUTH_TIMEOUT])
@pytest.mark.contract("D-10/close-codes", "D-10/reconnect")
def test_a_lost_socket_is_reopened_with_a_fresh_token(visitor: Driver, code: int) -> None:
    """Only the close codes about tokens may affect the identity."""
    visitor.close(code)

    links = [visitor.view.link]
    visitor.advance(10)

    assert [*links, visitor.view.link] == ["offline", "online"]
    assert visitor.counts()["LoadVisitorToken"] == 2
    assert visitor.errors() == []


@pytest.mark.contract("D-10/reconnect")
def test_reconnecting_backs_off_with_jitter_and_a_cap(make_widget: MakeWidget) -> None:
    """The maximum wait must double up to 30 seconds. Each wait must be a random fraction of the maximum.

    The widget must report the unreachable service once.
    """
    widget = make_widget(answers_frames=False)
    widget.start()
    for _ in range(8):
        widget.socket = widget.last(effects.OpenSocket).ref
        widget.close(1006)
        widget.advance(float(str(widget.emitted("socket:waiting")[-1]["seconds"])))

    waits = [detail["seconds"] for detail in widget.emitted("socket:waiting")]
    assert waits == [1, 2, 4, 8, 16, 30, 30, 30]
    assert widget.errors() == [Fault.SOCKET_UNREACHABLE]
    assert widget.emitted("error")[0]["retryable"] is True


def test_the_wait_is_a_random_fraction_of_its_maximum(visitor: Driver) -> None:
    visitor.chance.value = 0.25

    visitor.close(1006)

    assert visitor.emitted("socket:waiting")[-1]["seconds"] == 0.25


@pytest.mark.parametrize("stage", ["hello", "ready"])
def test_a_silent_server_is_left_after_10_seconds(make_widget: MakeWidget, stage: str) -> None:
    """F139: if `hello` or `ready` is not received in time, the widget must close this connection and open another."""
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


def test_waking_up_probes_the_socket_once(visitor: Driver) -> None:
    """F062: three events at the same moment must cause one ping.

    If there is no answer, the widget must replace the socket after 3 s.
    """
    visitor.answers_frames = False

    visitor.feed(events.Woken("visible"), events.Woken("online"), events.Woken("pageshow"))

    assert len(visitor.frames(Kind.PING)) == 1
    visitor.advance(3)
    assert visitor.emitted("socket:lost") == [{"why": "mute"}]


def test_waking_up_with_a_living_socket_changes_nothing(visitor: Driver) -> None:
    visitor.feed(events.Woken("online"))
    visitor.advance(20)

    assert visitor.emitted("socket:lost") == []
    assert visitor.counts()["OpenSocket"] == 1


@pytest.mark.contract("D-12/no-hammering")
def test_a_refused_visitor_is_not_tried_for_ever(make_widget: MakeWidget) -> None:
    """F138: the server answers every attempt with 4401. After two attempts, the widget must stop and show a notice."""
    widget = make_widget(verdict=lambda _: ("token_signature", Close.TOKEN)).start()

    widget.advance(300)

    assert widget.counts()["OpenSocket"] == 2
    assert widget.errors() == ["token_signature"]
    assert widget.view.link == "stopped"


@pytest.mark.parametrize("code", ["provider_off", "origin_not_allowed", "insecure_origin"])
def test_a_refusal_of_the_page_or_provider_stops_at_once(make_widget: MakeWidget, code: str) -> None:
    """The server would refuse every other token too, so the widget must not request one."""
    widget = make_widget(verdict=lambda _: (code, Close.FORBIDDEN)).start()

    widget.advance(300)

    assert widget.counts()["OpenSocket"] == 1
    assert widget.errors() == [code]
    assert widget.view.notice
    assert widget.machine.debug()["uid"] == KEY.uid


@pytest.mark.parametrize(
    ("status", "code", "retry_after", "waits"),
    [
        (0, None, None, 1.0),
        (500, "internal", None, 1.0),
        (503, "unavailable", None, 1.0),
        (429, "rate_limited", 7.0, 7.0),
    ],
)
def test_a_token_endpoint_that_fails_is_asked_again(
    make_widget: MakeWidget, status: int, code: str | None, retry_after: float | None, waits: float
) -> None:
    """F087: the widget must wait at least as long as `Retry-After` says."""
    widget = make_widget(answers_tokens=False).start()
    ref = widget.last(effects.LoadVisitorToken).ref

    widget.feed(events.TokenFailed(ref, status, code, "No.", retry_after))
    widget.answers_tokens = True
    widget.advance(waits - 0.01)
    assert widget.counts()["LoadVisitorToken"] == 1
    widget.advance(0.01)

    assert widget.identity == VISITOR
    assert widget.errors() == []


def test_a_refresh_that_fails_keeps_the_socket(visitor: Driver) -> None:
    """The next attempt may succeed a second later, so the widget must keep the connection."""
    visitor.answers_tokens = False
    visitor.advance(50)

    visitor.feed(events.TokenFailed(visitor.last(effects.LoadVisitorToken).ref, 503))
    visitor.answers_tokens = True
    visitor.advance(1)

    assert len(visitor.frames(Kind.REFRESH)) == 1
    assert visitor.counts()["CloseSocket"] == 0


def test_a_refresh_that_fails_is_not_asked_again_within_the_second(visitor: Driver) -> None:
    """Even with the smallest random wait, the widget must wait a second before it calls a failing endpoint again."""
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
    """F062: the widget is already requesting a token when the server sends `reauth`."""
    visitor.answers_tokens = False
    visitor.advance(50)

    visitor.frame(type="reauth", deadline=visitor.server_now + 30)

    assert visitor.counts()["LoadVisitorToken"] == 2


@pytest.mark.parametrize(("status", "code", "retry_after"), [(503, None, 600.0), (401, Code.TOKEN_SIGNATURE, None)])
def test_a_late_token_answer_of_a_lost_connection_is_ignored(
    visitor: Driver, status: int, code: str | None, retry_after: float | None
) -> None:
    visitor.answers_tokens = False
    visitor.advance(50)
    ref = visitor.last(effects.LoadVisitorToken).ref
    visitor.close(1006)

    visitor.feed(events.TokenFailed(ref, status, code, "No.", retry_after))

    assert visitor.errors() == []
    assert len(visitor.emitted("socket:waiting")) == 1
    assert visitor.timers["reconnect"] - visitor.now == 1


@pytest.mark.parametrize("frame", [None, {"type": "hello"}, {"type": "hello", "nonce": 5, "server_time": 1, "ping": 2}])
def test_a_frame_that_cannot_be_read_leads_to_a_new_connection(
    make_widget: MakeWidget, frame: dict[str, object] | None
) -> None:
    """The error must name the malformed member."""
    widget = make_widget(answers_frames=False).start()

    widget.feed(events.FrameReceived(widget.last(effects.OpenSocket).ref, frame))

    assert widget.errors() == [Fault.FRAME_UNREADABLE]
    assert widget.view.link == "offline"


def test_a_token_of_the_service_that_cannot_be_read_is_told_and_left_to_the_server(make_widget: MakeWidget) -> None:
    """The error must say what is wrong with the token.

    The widget does not verify tokens, so it must send the token anyway.
    """
    widget = make_widget(answers_tokens=False, answers_frames=False).start()

    widget.feed(events.TokenLoaded(widget.last(effects.LoadVisitorToken).ref, "garbage", URI))

    assert widget.errors() == [Fault.TOKEN_MALFORMED]
    assert widget.last(effects.OpenSocket).uri == URI
    assert widget.emitted("token:used") == []


@pytest.mark.parametrize("twice", [events.TokenLoaded(1, "a.b.c", URI), events.TokenFailed(1, 503)])
def test_a_second_answer_for_one_token_changes_nothing(
    make_widget: MakeWidget, twice: events.TokenLoaded | events.TokenFailed
) -> None:
    """The widget is already opening a socket with the first token when it receives the second."""
    widget = make_widget(answers_frames=False).start()
    opening = widget.last(effects.OpenSocket)
    assert opening.ref == 1

    widget.feed(twice)

    assert widget.all(effects.OpenSocket) == [opening]
    assert widget.emitted("socket:waiting") == []
    assert widget.view.link == "connecting"


@pytest.mark.parametrize(
    "early",
    [
        events.ProofSigned(1, bytes(64)),
        events.FrameReceived(1, {"type": "error", "code": "token_signature", "message": "No."}),
        events.FrameReceived(1, None),
        events.SocketClosed(1, Close.TOKEN),
    ],
)
def test_a_frame_before_the_socket_opens_does_not_end_the_attempt(make_widget: MakeWidget, early: events.Event) -> None:
    """While the widget waits for the token, there is no socket that the server could close."""
    widget = make_widget(answers_tokens=False).start()
    assert widget.last(effects.LoadVisitorToken).ref == 1

    widget.feed(early)

    assert widget.emitted("socket:waiting") == []
    assert widget.all(effects.Send) == []
    widget.feed(events.TokenLoaded(1, jwt(pid=PID, uid=KEY.uid, type="visitor", exp=int(NOW) + 90), URI))
    assert widget.identity == VISITOR
    assert widget.sockets() == 1


def test_waking_up_while_stopped_asks_for_nothing(make_widget: MakeWidget) -> None:
    """F138: the tab becomes visible after a refusal. The widget must not retry."""
    widget = make_widget(verdict=lambda _: ("token_signature", Close.TOKEN)).start()
    widget.advance(300)
    before = len(widget.done)

    widget.feed(events.Woken("visible"))

    assert widget.view.link == "stopped"
    assert widget.done[before:] == []


def test_a_refusal_long_ago_is_forgotten(visitor: Driver) -> None:
    """F138: only consecutive refusals may stop the widget."""
    for _ in range(3):
        visitor.close(Close.TOKEN)
        visitor.advance(120)

    assert visitor.view.link == "online"
    assert visitor.errors() == []


def test_an_expired_token_does_not_count_as_a_refusal(visitor: Driver) -> None:
    """Several tokens expire one after another. The widget must continue, because the next token may be valid."""
    for _ in range(3):
        visitor.close(Close.TOKEN_EXPIRED)
        visitor.advance(10)

    assert visitor.view.link == "online"
    assert visitor.errors() == []


@pytest.mark.parametrize("at_once", [True, False], ids=["before-ready", "after-ready"])
def test_tokens_that_always_expire_at_once_cause_few_sockets(make_widget: MakeWidget, *, at_once: bool) -> None:
    """F224: each new token is refused as expired. The waits must grow, and the widget must stop."""
    widget = make_widget()
    if at_once:
        widget.verdict = lambda _: ("token_expired", Close.TOKEN_EXPIRED)
    widget.start()
    opened = [widget.now]
    for _ in range(3600):
        if widget.socket is not None:
            widget.close(Close.TOKEN_EXPIRED)
        widget.advance(1)
        opened += [widget.now] * (widget.sockets() - len(opened))

    waits = [later - earlier for earlier, later in pairwise(opened)]
    assert waits == [1, 2, 4, 8]
    assert widget.view.link == "stopped"
    assert widget.errors()[-1] == "token_expired"


def test_a_refresh_revives_a_widget_that_was_stopped(make_widget: MakeWidget) -> None:
    """When the page reports that its user may have changed, the widget must try again."""
    widget = make_widget(verdict=lambda _: ("token_signature", Close.TOKEN)).start()
    widget.advance(300)
    stopped = widget.view.link
    widget.verdict = lambda _: None

    widget.feed(events.RefreshAsked())

    assert (stopped, widget.view.link) == ("stopped", "online")


@pytest.mark.contract("D-12/always-chat")
def test_opening_the_panel_tries_again_what_was_refused(make_widget: MakeWidget) -> None:
    """F138: the cause of a refusal an hour ago may be gone.

    Until the panel is opened, the widget must send no requests.
    """
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
