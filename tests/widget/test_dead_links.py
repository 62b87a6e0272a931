"""Tests of how the widget detects a dead connection. It sends pings only if the connection is in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.link_attempts import EARLY_ATTEMPTS
from chatkey_widget.service_link import ANSWER_SECONDS, CONNECT_SECONDS, PROBE_SECONDS, SILENCE_SECONDS

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget

PING = 25.0
LIVELY = SILENCE_SECONDS + PROBE_SECONDS
"""The time in seconds after which the widget gives up a dead connection during a conversation."""

pytestmark = pytest.mark.contract("D-10/reconnect")


def hear(visitor: Driver, seq: int = 1) -> None:
    visitor.frame(
        type="message", id=f"a{seq}", seq=seq, sender="agent", name="Grace", body="Hello", sent_at=visitor.server_now
    )


def answer_history(visitor: Driver) -> None:
    """Answer the history request that the widget sends after connecting."""
    asked = visitor.frames(Kind.HISTORY)[-1]
    visitor.frame(type="history", id=asked["id"], messages=[], more=False)


@pytest.fixture
def idle(visitor: Driver) -> Driver:
    answer_history(visitor)
    return visitor


def test_an_idle_widget_pings_as_often_as_hello_says(idle: Driver) -> None:
    idle.advance(4 * PING)

    assert len(idle.frames(Kind.PING)) == 4
    assert idle.sockets() == 1


def test_an_idle_widget_leaves_a_dead_connection_after_one_ping_without_an_answer(idle: Driver) -> None:
    idle.answers_frames = False

    idle.advance(PING + CONNECT_SECONDS - 0.01)
    before = idle.emitted("socket:lost")
    idle.advance(0.01)

    assert (before, idle.emitted("socket:lost")) == ([], [{"why": "mute"}])


def test_a_message_without_an_answer_causes_a_check_of_the_connection(idle: Driver) -> None:
    """On the next connection, the widget must send the message again with the same id."""
    idle.answers_frames = False
    idle.feed(events.MessageWritten("Are you there?"))

    idle.advance(ANSWER_SECONDS + PROBE_SECONDS)
    lost = idle.emitted("socket:lost")
    idle.answers_frames = True
    idle.advance(CONNECT_SECONDS)

    assert lost == [{"why": "mute"}]
    assert len({frame["id"] for frame in idle.frames(Kind.MESSAGE)}) == 1
    assert len(idle.frames(Kind.MESSAGE)) >= 2
    assert idle.view.link == "online"


def test_further_messages_do_not_postpone_the_check_of_the_connection(idle: Driver) -> None:
    idle.answers_frames = False

    for _ in range(5):
        idle.feed(events.MessageWritten("Are you there?"))
        idle.advance(1)

    assert idle.emitted("socket:lost") == [{"why": "mute"}]


def test_a_message_that_is_answered_late_keeps_its_connection(idle: Driver) -> None:
    """The service acknowledges the message late, but answers the ping in time."""
    idle.feed(events.MessageWritten("Are you there?"))

    idle.advance(ANSWER_SECONDS + PROBE_SECONDS)
    pings = len(idle.frames(Kind.PING))
    idle.frame(type="ack", id=idle.frames(Kind.MESSAGE)[0]["id"], seq=1, sent_at=idle.server_now)

    assert (pings, idle.emitted("socket:lost"), idle.sockets()) == (1, [], 1)


def test_a_silent_conversation_causes_one_ping(idle: Driver) -> None:
    hear(idle)

    idle.advance(SILENCE_SECONDS - 0.01)
    before = len(idle.frames(Kind.PING))
    idle.advance(PING - SILENCE_SECONDS)

    assert (before, len(idle.frames(Kind.PING))) == (0, 1)


def test_a_connection_that_dies_in_a_conversation_is_left_within_seconds(idle: Driver) -> None:
    hear(idle)
    idle.answers_frames = False

    idle.advance(LIVELY)

    assert idle.emitted("socket:lost") == [{"why": "mute"}]


def test_an_active_conversation_causes_no_ping(idle: Driver) -> None:
    for seq in range(1, 5):
        hear(idle, seq)
        idle.advance(SILENCE_SECONDS - 0.1)

    assert idle.frames(Kind.PING) == []


def test_the_timeout_of_a_ping_is_the_time_that_connecting_took(make_widget: MakeWidget) -> None:
    widget = make_widget(answers_frames=False).start()
    widget.advance(6)
    widget.socket = ref = widget.last(effects.OpenSocket).ref
    hello = {"type": "hello", "nonce": "n", "server_time": widget.server_now, "auth_timeout": 10, "ping": PING}
    widget.feed(events.SocketOpened(ref), events.FrameReceived(ref, hello))
    answer_history(widget)
    hear(widget)

    widget.advance(SILENCE_SECONDS + 5.9)
    before = widget.emitted("socket:lost")
    widget.advance(0.1)

    assert (before, widget.emitted("socket:lost")) == ([], [{"why": "mute"}])


def test_after_a_loss_the_first_attempts_have_a_short_timeout(idle: Driver) -> None:
    """When a connection is lost, the network may return at any moment.

    An attempt that began without a network would take too long to fail.
    """
    idle.answers_frames = False
    before = len(idle.all(effects.SetTimer))
    idle.close(1006)

    idle.advance(60)

    patience = [timer.seconds for timer in idle.all(effects.SetTimer)[before:] if timer.name == "connect"]
    assert patience[: EARLY_ATTEMPTS + 1] == [PROBE_SECONDS] * EARLY_ATTEMPTS + [CONNECT_SECONDS]
