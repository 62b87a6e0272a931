"""Tests of the conversation, for visitors and members alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.chat import MESSAGE_CHARS
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget

    from chatkey_widget.view import Line


def entry(seq: int, body: str, sender: str = "customer", **more: object) -> dict[str, object]:
    return {"id": f"m{seq}", "seq": seq, "sender": sender, "name": None, "body": body, "sent_at": 100 + seq, **more}


def bodies(widget: Driver) -> list[tuple[str, str]]:
    return [(line.body, line.state) for line in widget.view.lines]


@pytest.fixture(params=["visitor", "member"])
def anyone(request: pytest.FixtureRequest) -> Driver:
    """A connected widget. Each test runs once as the visitor and once as a member."""
    driver: Driver = request.getfixturevalue(request.param)
    return driver


@pytest.mark.contract("D-10/messages")
def test_a_message_is_shown_at_once_and_acknowledged(anyone: Driver) -> None:
    """Until the server has stored the message, the screen must show it as being sent.

    After that, the screen must show it as sent.
    """
    anyone.feed(events.MessageWritten("  Hello  "))
    sent = anyone.frames(Kind.MESSAGE)[0]
    assert bodies(anyone) == [("Hello", "sending")]

    anyone.frame(type="ack", id=sent["id"], seq=1, sent_at=200)

    assert bodies(anyone) == [("Hello", "sent")]
    assert sent["body"] == "Hello"


def test_a_message_written_before_the_key_is_ready_is_sent(make_widget: MakeWidget) -> None:
    """A browser may take seconds to provide the key."""
    widget = make_widget()

    widget.feed(events.MessageWritten("Hello"), events.Started(secure=True))

    assert [frame["body"] for frame in widget.frames(Kind.MESSAGE)] == ["Hello"]
    assert bodies(widget) == [("Hello", "sending")]


@pytest.mark.contract("2.7/custom-on-first")
def test_the_members_name_travels_in_a_header(member: Driver, visitor: Driver) -> None:
    """A visitor has no name to send."""
    for widget in (member, visitor):
        widget.feed(events.MessageWritten("Hello"), events.CallAsked("start"))

    assert member.frames(Kind.MESSAGE)[0]["headers"] == {"name": "Ada Lovelace"}
    assert member.frames(Kind.CALL)[0]["headers"] == {"name": "Ada Lovelace"}
    assert "headers" not in visitor.frames(Kind.MESSAGE)[0]


@pytest.mark.parametrize("body", ["", "   ", "\n"])
def test_an_empty_message_is_not_sent(visitor: Driver, body: str) -> None:
    visitor.feed(events.MessageWritten(body))

    assert visitor.frames(Kind.MESSAGE) == []


@pytest.mark.contract("D-10/messages")
def test_an_unacknowledged_message_is_sent_again_with_its_id(anyone: Driver) -> None:
    """The widget must send unacknowledged messages again, and must not repeat acknowledged ones."""
    anyone.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    first, second = anyone.frames(Kind.MESSAGE)
    anyone.frame(type="ack", id=first["id"], seq=1, sent_at=200)

    anyone.close(1006)
    anyone.advance(2)

    assert anyone.frames(Kind.MESSAGE)[2:] == [second]


def test_a_message_written_offline_is_sent_when_the_connection_is_back(visitor: Driver) -> None:
    """Without a connection, the screen must show the message as waiting."""
    visitor.close(1006)
    visitor.feed(events.MessageWritten("later"))
    assert visitor.frames(Kind.MESSAGE) == []

    visitor.advance(2)

    assert [frame["body"] for frame in visitor.frames(Kind.MESSAGE)] == ["later"]


def test_a_message_longer_than_the_limit_is_shown_as_refused(visitor: Driver) -> None:
    """F218: the composer has the same limit. Longer text from a script must not be cut without a word."""
    visitor.feed(events.MessageWritten("x" * (MESSAGE_CHARS + 1)), events.MessageWritten("next"))

    assert [frame["body"] for frame in visitor.frames(Kind.MESSAGE)] == ["next"]
    assert bodies(visitor) == [("x" * (MESSAGE_CHARS + 1), "refused"), ("next", "sending")]
    assert visitor.view.lines[0].reason == "too_large"
    assert visitor.errors() == [Fault.MESSAGE_REFUSED]


def test_an_acknowledgement_of_a_message_that_is_not_there_changes_nothing(visitor: Driver) -> None:
    visitor.feed(events.MessageWritten("Hello"))

    visitor.frame(type="ack", id="other", seq=1, sent_at=200)

    assert bodies(visitor) == [("Hello", "sending")]
    assert visitor.emitted("message:acknowledged") == []


@pytest.mark.contract("D-10/messages")
def test_a_message_whose_acknowledgement_was_lost_is_found_in_the_history(anyone: Driver) -> None:
    anyone.feed(events.MessageWritten("Hello"))
    sent = anyone.frames(Kind.MESSAGE)[0]
    anyone.close(1006)
    anyone.advance(2)

    stored = entry(1, "Hello") | {"id": sent["id"]}
    anyone.frame(type="history", id=anyone.frames(Kind.HISTORY)[-1]["id"], messages=[stored], more=False)

    assert bodies(anyone) == [("Hello", "sent")]


def test_a_refused_message_says_nothing_about_the_connection(visitor: Driver) -> None:
    """The socket closes a moment later. The widget must not report the refused message as the cause."""
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]

    visitor.frame(type="error", id=sent["id"], code="too_large", message="At most 2.", retryable=False)
    visitor.close(1006)

    assert visitor.emitted("socket:closed") == [{"code": 1006, "reason": None}]


def test_a_message_that_the_server_refuses_is_marked(visitor: Driver) -> None:
    """The screen must mark the message and explain the refusal. The widget must not send the message again."""
    visitor.feed(events.MessageWritten("x" * 4000))
    sent = visitor.frames(Kind.MESSAGE)[0]

    visitor.frame(type="error", id=sent["id"], code="too_large", message="At most 2000.", retryable=False)
    visitor.close(1006)
    visitor.advance(2)

    assert visitor.view.lines[0].state == "refused"
    assert visitor.errors() == [Fault.MESSAGE_REFUSED]
    assert "too_large" in str(visitor.emitted("error")[0]["message"])
    assert len(visitor.frames(Kind.MESSAGE)) == 1


# messages that the server cannot accept


def refuse_frames(widget: Driver, poison: str, close: int = 4400, *, says: str | None = "frame_invalid") -> None:
    """Answer as a server that closes the connection at a message with this text, and acknowledges other messages."""
    for _ in range(300):
        waiting = [line for line in widget.view.lines if line.state == "sending"]
        if not waiting:
            return
        if widget.socket is None or not (sent := unanswered(widget)):
            widget.advance(1)
            continue
        line = sent[0]
        if poison in line.body:
            if says is not None:
                widget.frame(type="error", code=says, message="The frame cannot be read.", retryable=False)
            widget.close(close)
        else:
            seq = 1 + len([line for line in widget.view.lines if line.state == "sent"])
            widget.frame(type="ack", id=line.id, seq=seq, sent_at=200)
    raise AssertionError("messages are still waiting")


def unanswered(widget: Driver) -> list[Line]:
    """Return the messages that were sent on the open connection and have no answer, in the order of sending."""
    since = [index for index, effect in enumerate(widget.done) if isinstance(effect, effects.OpenSocket)][-1]
    sent = [effect.frame for effect in widget.done[since:] if isinstance(effect, effects.Send)]
    ids = [frame["id"] for frame in sent if frame["type"] == Kind.MESSAGE]
    lines = {line.id: line for line in widget.view.lines if line.state == "sending"}
    return [lines[str(frame_id)] for frame_id in ids if frame_id in lines]


@pytest.mark.parametrize(
    ("close", "says", "reason"),
    [
        (4400, "frame_invalid", "frame_invalid"),
        (1009, None, "frame_too_large"),
        (1007, None, "frame_invalid"),
        (1008, None, "frame_invalid"),
        (1006, None, "socket_unreachable"),
        (1013, "internal", "socket_unreachable"),
    ],
)
def test_a_message_that_ends_the_connection_holds_up_no_other(
    visitor: Driver, close: int, says: str | None, reason: str
) -> None:
    """F219: the message must be refused visibly, with its text, and the next messages must be sent."""
    for body in ("one", "poison", "two", "three"):
        visitor.feed(events.MessageWritten(body))

    refuse_frames(visitor, "poison", close, says=says)
    posted = len(visitor.frames(Kind.MESSAGE))
    visitor.close(1006)
    visitor.advance(120)

    assert sorted(bodies(visitor)) == [("one", "sent"), ("poison", "refused"), ("three", "sent"), ("two", "sent")]
    assert [line.reason for line in visitor.view.lines if line.state == "refused"] == [reason]
    assert Fault.MESSAGE_REFUSED in visitor.errors()
    assert len(visitor.frames(Kind.MESSAGE)) == posted


def test_a_close_of_the_server_blames_no_message_that_may_be_innocent(visitor: Driver) -> None:
    """F219: with two messages or a search under way, the widget cannot know which frame the server refused."""
    visitor.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    visitor.close(4400)
    visitor.advance(2)
    after_two = bodies(visitor)
    visitor.frame(type="ack", id=visitor.frames(Kind.MESSAGE)[0]["id"], seq=1, sent_at=200)
    visitor.advance(1)
    visitor.feed(events.SearchAsked("tea"))

    visitor.close(4400)

    assert after_two == [("one", "sending"), ("two", "sending")]
    assert bodies(visitor) == [("one", "sent"), ("two", "sending")]
    assert visitor.errors() == []


def test_messages_written_offline_are_sent_one_after_the_other(visitor: Driver) -> None:
    """F219: fifty messages at once would exceed the rate of the server, which would close the connection each time."""
    visitor.close(1006)
    visitor.feed(*(events.MessageWritten(f"number {number}") for number in range(50)))
    visitor.advance(2)

    sent = []
    while waiting := unanswered(visitor):
        sent.append([line.body for line in waiting])
        visitor.frame(type="ack", id=waiting[0].id, seq=len(sent), sent_at=200)
        visitor.advance(0.1)

    assert sent == [[f"number {number}"] for number in range(50)]


def test_a_message_that_the_server_puts_off_waits_as_long_as_it_says(visitor: Driver) -> None:
    """F219: the answer to another message must not make the widget send it earlier."""
    visitor.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    one, two = visitor.frames(Kind.MESSAGE)
    late = {"type": "error", "code": "rate_limited", "message": "Later.", "retryable": True, "retry_after": 30}

    visitor.frame(id=one["id"], **late)
    visitor.frame(type="ack", id=two["id"], seq=1, sent_at=200)
    visitor.advance(29)
    early = visitor.frames(Kind.MESSAGE)
    visitor.advance(15)

    assert early == [one, two]
    assert visitor.frames(Kind.MESSAGE) == [one, two, one]


def test_a_message_waits_behind_an_earlier_one_that_is_not_sent_yet(visitor: Driver) -> None:
    """Otherwise the server would store the messages in another order."""
    visitor.close(1006)
    visitor.feed(events.MessageWritten("one"), events.MessageWritten("two"))
    visitor.advance(2)

    visitor.feed(events.MessageWritten("three"))

    assert [line.body for line in unanswered(visitor)] == ["one"]


# messages that a page leaves behind


@pytest.mark.parametrize("who", ["visitor", "member"])
def test_a_message_that_was_not_sent_survives_a_reload(make_widget: MakeWidget, who: str) -> None:
    """F220: the next page of the tab must send the message with the same id, for the same identity only."""
    before = make_widget(custom_login=who == "member")
    if who == "member":
        before.page = lambda call: events.GetTokenReturned(call.ref, before.custom())
    before.start()
    before.close(1006)
    before.feed(events.MessageWritten("Is the oak table in stock?"))

    after = make_widget(custom_login=True, unsent=before.unsent)
    shown_to_visitor: list[object] = []

    def sign_in(call: effects.CallGetToken) -> events.Event:
        shown_to_visitor.extend(after.view.lines if who == "member" else ())
        return events.GetTokenReturned(call.ref, after.custom() if who == "member" else None)

    after.page = sign_in
    after.start()

    (sent,) = after.frames(Kind.MESSAGE)
    assert (sent["id"], sent["body"]) == (before.view.lines[0].id, "Is the oak table in stock?")
    assert shown_to_visitor == []
    after.frame(type="ack", id=sent["id"], seq=1, sent_at=200)
    assert after.unsent is None


@pytest.mark.parametrize("owner", [("Visitor", "v_lost"), ("Custom", "ada")])
def test_a_message_of_somebody_who_does_not_come_back_is_given_back(
    make_widget: MakeWidget, owner: tuple[str, str]
) -> None:
    """F220: the key of the visitor is lost, or nobody is signed in any more. The text must not vanish."""
    unsent = json.dumps([[*owner, "m-1", "Hello", 100.0]])

    widget = make_widget(custom_login=True, unsent=unsent).start()

    assert [back.text for back in widget.all(effects.GiveBack)] == ["Hello"]
    assert widget.errors() == [Fault.MESSAGE_DROPPED]
    assert widget.view.lines == ()
    assert widget.unsent is None


@pytest.mark.parametrize("kept", ["{", "null", '"text"', "[1, [2], [null]]", '[["Visitor", "v", "bad id!", "x", 1]]'])
def test_garbage_in_the_storage_sends_no_message(make_widget: MakeWidget, kept: str) -> None:
    widget = make_widget(unsent=kept).start()

    assert widget.frames(Kind.MESSAGE) == []
    assert widget.errors() == []
    assert widget.unsent is None


def test_the_history_is_shown_in_the_servers_order(anyone: Driver) -> None:
    """Messages are sorted by `seq`, in whatever order they were received. Unsent messages come last."""
    ask = anyone.frames(Kind.HISTORY)[-1]
    anyone.feed(events.MessageWritten("new"))

    anyone.frame(type="message", **entry(3, "three", "agent"))
    anyone.frame(type="history", id=ask["id"], messages=[entry(1, "one"), entry(2, "two")], more=True)

    assert [body for body, _ in bodies(anyone)] == ["one", "two", "three", "new"]
    assert anyone.view.more


def load(widget: Driver, *seqs: int, more: bool = False, before: int | None = None) -> None:
    """Check that the newest history request is for this page, and answer with these messages."""
    ask = widget.frames(Kind.HISTORY)[-1]
    assert ask.get("before") == before
    widget.frame(type="history", id=ask["id"], messages=[entry(seq, f"number {seq}") for seq in seqs], more=more)


def seqs(widget: Driver) -> list[int | None]:
    return [line.seq for line in widget.view.lines]


@pytest.mark.contract("D-15/deaf")
def test_a_missing_message_is_noticed_and_requested(anyone: Driver) -> None:
    """If a number is missing, the widget must wait a moment for the message, and then request the history."""
    load(anyone, 1, 2)
    asked = len(anyone.frames(Kind.HISTORY))

    anyone.frame(type="message", **entry(5, "five", "agent"))
    at_once = len(anyone.frames(Kind.HISTORY))
    anyone.advance(1)
    load(anyone, 1, 2, 3, 4, before=5)
    anyone.advance(10)

    assert (at_once, len(anyone.frames(Kind.HISTORY))) == (asked, asked + 1)
    assert seqs(anyone) == [1, 2, 3, 4, 5]


@pytest.mark.contract("D-15/deaf")
def test_a_gap_below_ones_own_message_is_noticed(visitor: Driver) -> None:
    """Just before the visitor's message, an agent sent a message that the widget has not received."""
    load(visitor, 1)
    visitor.feed(events.MessageWritten("three"))
    visitor.frame(type="ack", id=visitor.frames(Kind.MESSAGE)[0]["id"], seq=3, sent_at=200)

    visitor.advance(1)
    load(visitor, 1, 2, before=3)

    assert seqs(visitor) == [1, 2, 3]


@pytest.mark.contract("D-15/deaf")
def test_messages_out_of_order_cause_no_request(visitor: Driver) -> None:
    load(visitor, 1)
    asked = len(visitor.frames(Kind.HISTORY))

    visitor.frame(type="message", **entry(3, "three", "agent"))
    visitor.frame(type="message", **entry(2, "two", "agent"))
    visitor.advance(10)

    assert len(visitor.frames(Kind.HISTORY)) == asked
    assert seqs(visitor) == [1, 2, 3]


@pytest.mark.contract("D-15/deaf")
def test_a_gap_of_many_pages_is_filled_page_by_page(visitor: Driver) -> None:
    """The widget was disconnected for a night.

    The newest page of history does not reach back to the last known message.
    """
    load(visitor, 1, 2)
    visitor.close(1006)
    visitor.advance(2)

    load(visitor, 8, 9, more=True)
    load(visitor, 6, 7, more=True, before=8)
    load(visitor, 4, 5, more=True, before=6)
    load(visitor, 2, 3, more=True, before=4)

    assert seqs(visitor) == list(range(1, 10))
    assert not visitor.view.more
    assert visitor.frames(Kind.HISTORY)[-1]["before"] == 4


def test_a_gap_that_the_server_cannot_fill_is_requested_once(visitor: Driver) -> None:
    load(visitor, 1, 2)
    visitor.frame(type="message", **entry(9, "nine", "agent"))
    visitor.advance(1)
    asked = len(visitor.frames(Kind.HISTORY))

    load(visitor, 1, 2, before=9)
    visitor.advance(10)

    assert len(visitor.frames(Kind.HISTORY)) == asked


def test_older_messages_are_asked_for_before_the_oldest(visitor: Driver) -> None:
    """The widget must request earlier pages until there are no more messages."""
    ask = visitor.frames(Kind.HISTORY)[-1]
    page = [entry(7, "seven"), entry(8, "eight"), entry(9, "nine")]
    visitor.frame(type="history", id=ask["id"], messages=page, more=True)

    visitor.feed(events.OlderAsked())
    older = visitor.frames(Kind.HISTORY)[-1]
    visitor.frame(type="history", id=older["id"], messages=[entry(6, "six")], more=False)
    visitor.feed(events.OlderAsked())

    assert "before" not in ask
    assert older["before"] == 7
    assert [body for body, _ in bodies(visitor)] == ["six", "seven", "eight", "nine"]
    assert visitor.frames(Kind.HISTORY)[-1] == older


def test_an_unrequested_history_is_ignored(visitor: Driver) -> None:
    visitor.frame(type="history", id="other", messages=[entry(1, "not mine")], more=False)

    assert visitor.view.lines == ()


def test_unread_messages_of_agents_are_counted_while_the_panel_is_closed(visitor: Driver) -> None:
    """A message counts once. A message from another tab does not count. Opening the panel must reset the count."""
    counted = []
    for line in (entry(1, "hi", "agent"), entry(1, "hi", "agent"), entry(2, "me"), entry(3, "you?", "agent")):
        visitor.frame(type="message", **line)
        counted.append(visitor.view.unread)

    visitor.feed(events.PanelToggled(open=True))
    visitor.frame(type="message", **entry(4, "still there?", "agent"))

    assert counted == [1, 1, 1, 2]
    assert visitor.view.unread == 0


def test_a_line_says_who_wrote_it_when_and_under_which_name(visitor: Driver) -> None:
    """This must hold for messages of others, messages in the history, and the person's own acknowledged messages."""
    ask = visitor.frames(Kind.HISTORY)[-1]
    visitor.frame(type="history", id=ask["id"], messages=[entry(1, "Hello", "agent", name="Kim")], more=False)
    visitor.frame(type="message", **entry(2, "Hi", name=None))
    visitor.feed(events.MessageWritten("Thanks"))
    visitor.frame(type="ack", id=visitor.frames(Kind.MESSAGE)[-1]["id"], seq=3, sent_at=103)

    shown = [(line.sender, line.name, line.seq, line.sent_at, line.state) for line in visitor.view.lines]
    assert shown == [
        ("agent", "Kim", 1, 101, "sent"),
        ("customer", None, 2, 102, "sent"),
        ("customer", None, 3, 103, "sent"),
    ]


def test_a_history_counts_as_loaded_when_it_came(visitor: Driver) -> None:
    ask = visitor.frames(Kind.HISTORY)[-1]
    assert not visitor.view.loaded

    visitor.frame(type="history", id=ask["id"], messages=[], more=False)

    assert visitor.view.loaded


def test_without_a_gap_nothing_waits_to_fill_one(visitor: Driver) -> None:
    visitor.frame(type="message", **entry(1, "Hello", "agent"))

    assert "gap" not in visitor.timers


def test_a_search_shows_what_was_found(anyone: Driver) -> None:
    """Only the answer to the newest query may be shown. An empty query must end the search."""
    anyone.feed(events.PageChosen("search"), events.SearchAsked("tea"), events.SearchAsked(" teapot "))
    first, second = anyone.frames(Kind.SEARCH)

    found = []
    anyone.frame(type="search", id=first["id"], messages=[entry(1, "tea")])
    found.append(anyone.view.found)
    anyone.frame(type="search", id=second["id"], messages=[entry(2, "teapot")])
    found.append(anyone.view.found)
    anyone.feed(events.PageChosen("chat"))
    found.append(anyone.view.found)

    assert second["query"] == "teapot"
    assert [lines and [line.body for line in lines] for lines in found] == [None, ["teapot"], None]


def test_a_call_rings_is_answered_and_ends(anyone: Driver) -> None:
    """The screen must show each state of the call. After a while, it must no longer show that the call has ended."""
    states = []
    anyone.feed(events.CallAsked("start"))
    states.append(anyone.view.call)
    for state in ("ringing", "active"):
        anyone.frame(type="call", call_id="c1", state=state)
        states.append(anyone.view.call)

    anyone.feed(events.CallAsked("end"))
    anyone.frame(type="call", call_id="c1", state="ended")
    states.append(anyone.view.call)
    anyone.advance(5)

    assert [*states, anyone.view.call] == ["calling", "ringing", "active", "ended", "none"]
    assert [frame["action"] for frame in anyone.frames(Kind.CALL)] == ["start", "end"]


def test_a_call_is_timed_from_its_answer(anyone: Driver) -> None:
    seconds = []
    for state in ("ringing", "active", "active"):
        anyone.frame(type="call", call_id="c1", state=state)
        seconds.append(anyone.view.call_seconds)
        anyone.advance(1.5)
        seconds.append(anyone.view.call_seconds)
    anyone.advance(60)
    seconds.append(anyone.view.call_seconds)

    anyone.frame(type="call", call_id="c1", state="ended")
    anyone.advance(1)

    assert seconds == [None, None, 0, 1, 1, 3, 63]
    assert anyone.view.call_seconds is None
    assert "second" not in anyone.timers


def test_a_clock_that_is_set_back_during_a_call_shows_no_negative_time(visitor: Driver) -> None:
    """The duration must start again at zero."""
    visitor.frame(type="call", call_id="c1", state="active")

    visitor.now -= 60
    visitor.feed(events.PanelToggled(open=True))

    assert visitor.view.call_seconds == 0


def test_a_refused_call_ends(visitor: Driver) -> None:
    visitor.feed(events.CallAsked("start"))
    sent = visitor.frames(Kind.CALL)[0]

    visitor.frame(type="error", id=sent["id"], code="call_unknown", message="There is no call.", retryable=False)

    assert visitor.view.call == "none"


def test_a_message_that_is_refused_ends_no_call(visitor: Driver) -> None:
    """An error with the id of a message concerns the message, not the call."""
    visitor.feed(events.CallAsked("start"), events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]

    visitor.frame(type="error", id=sent["id"], code="too_large", message="At most 2.", retryable=False)

    assert visitor.view.call == "calling"


def test_the_end_of_a_call_does_not_end_the_next_one(visitor: Driver) -> None:
    """The first call has ended, and a second call begins before the screen removes the first.

    The second call must stay on the screen.
    """
    visitor.frame(type="call", call_id="c1", state="ended")

    visitor.feed(events.CallAsked("start"))
    visitor.advance(10)

    assert visitor.view.call == "calling"


def test_a_refused_search_ends_without_results(visitor: Driver) -> None:
    visitor.feed(events.SearchAsked("tea"))
    asked = visitor.frames(Kind.SEARCH)[0]

    visitor.frame(
        type="error", id=asked["id"], code="rate_limited", message="Send requests less often.", retryable=True
    )

    assert visitor.view.found == ()


def test_nothing_is_shown_before_the_server_has_accepted_the_person(make_widget: MakeWidget) -> None:
    """If a message is received before `ready`, the widget does not know to whom the message belongs."""
    widget = make_widget(answers_frames=False).start()
    ref = widget.last(effects.OpenSocket).ref

    widget.feed(events.FrameReceived(ref, {"type": "message", **entry(1, "whose?", "agent")}))

    assert widget.view.lines == ()


def test_nothing_is_sent_while_there_is_no_connection(visitor: Driver) -> None:
    visitor.close(1006)
    before = visitor.counts()["Send"]

    visitor.feed(events.SearchAsked("tea"), events.CallAsked("start"), events.OlderAsked())

    assert visitor.counts()["Send"] == before
    assert visitor.view.call == "none"


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "message", "id": "m", "seq": "1", "sender": "agent", "body": "b", "sent_at": 1},
        {"type": "message", "id": "m", "seq": True, "sender": "agent", "body": "b", "sent_at": 1},
        {"type": "message", "seq": 1},
        {"type": "ack", "id": 5},
        {"type": "call", "call_id": "c", "state": "lost"},
    ],
)
def test_a_chat_frame_that_cannot_be_read_is_named(visitor: Driver, frame: dict[str, object]) -> None:
    """The widget must report one error that names the malformed member, and then reconnect."""
    visitor.feed(events.FrameReceived(visitor.socket or 0, frame))

    assert visitor.errors() == [Fault.FRAME_UNREADABLE]
    visitor.advance(2)
    assert visitor.view.link == "online"


def test_a_history_that_cannot_be_read_is_named(visitor: Driver) -> None:
    """The history answer has the id of the request, but does not contain a list of messages."""
    visitor.frame(type="history", id=visitor.frames(Kind.HISTORY)[-1]["id"], messages=["one"], more=False)

    assert visitor.errors() == [Fault.FRAME_UNREADABLE]
    assert "'messages'" in str(visitor.emitted("error")[0]["message"])


def test_unknown_kinds_of_frames_are_ignored(visitor: Driver) -> None:
    """Future versions of the profile may add kinds of frames."""
    visitor.frame(type="typing", who="agent")

    assert visitor.errors() == []
    assert visitor.counts()["OpenSocket"] == 1


def test_the_screen_is_drawn_only_when_something_changed(visitor: Driver) -> None:
    shown = len(visitor.all(effects.Show))

    visitor.advance(200)

    assert len(visitor.all(effects.Show)) == shown


@pytest.mark.contract("D-15/outage")
def test_a_temporarily_refused_request_is_repeated(visitor: Driver) -> None:
    """While the database is unavailable, the screen must show the message as being sent.

    When the database is available again, the message must be stored, and the history must load.
    """
    visitor.feed(events.MessageWritten("Hello"))
    sent, history = visitor.frames(Kind.MESSAGE)[0], visitor.frames(Kind.HISTORY)[-1]
    for frame in (sent, history):
        visitor.frame(type="error", id=frame["id"], code="unavailable", message="Away.", retryable=True)
    state = visitor.view.lines[0].state
    waits = visitor.timers["again"] - visitor.now

    visitor.advance(10)

    assert (state, waits) == ("sending", 10)
    assert {(error["phase"], error["retryable"]) for error in visitor.emitted("error")} == {("chat", True)}
    assert visitor.frames(Kind.MESSAGE) == [sent, sent]
    assert len(visitor.frames(Kind.HISTORY)) == 2
    assert visitor.errors() == ["unavailable", "unavailable"]


def test_postponed_requests_wait_for_the_next_connection(visitor: Driver) -> None:
    """The widget must send nothing over a closed socket.

    On the next connection, it must first repeat the postponed requests.
    """
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]
    visitor.frame(type="error", id=sent["id"], code="unavailable", message="Away.", retryable=True)
    visitor.close(1006)

    visitor.feed(events.TimerFired("again"))
    posted = len(visitor.frames(Kind.MESSAGE))
    visitor.advance(60)

    assert posted == 1
    assert visitor.frames(Kind.MESSAGE) == [sent, sent]


@pytest.mark.contract("2.7/custom-on-first")
def test_a_name_that_is_new_goes_out_with_the_next_message(member: Driver) -> None:
    """F200: the person's name has changed. Agents must see the new name with the next message."""
    member.feed(events.MessageWritten("Hello"))
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(name="Ada King"))

    member.feed(events.RefreshAsked())
    member.feed(events.MessageWritten("Hello again"))

    first, next_one = (frame["headers"] for frame in member.frames(Kind.MESSAGE))
    assert next_one == {"name": "Ada King"} != first


def test_a_rate_limited_message_is_sent_again_after_the_given_time(visitor: Driver) -> None:
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]
    visitor.frame(type="error", id=sent["id"], code="rate_limited", message="Too much.", retryable=True, retry_after=36)

    visitor.advance(36)
    posted = len(visitor.frames(Kind.MESSAGE))
    visitor.advance(10)

    assert posted == 1
    assert visitor.frames(Kind.MESSAGE) == [sent, sent]
    assert visitor.view.lines[0].state == "sending"


def test_a_wait_before_the_next_attempt_is_at_most_an_hour(visitor: Driver) -> None:
    visitor.feed(events.MessageWritten("Hello"))
    sent = visitor.frames(Kind.MESSAGE)[0]
    visitor.frame(
        type="error", id=sent["id"], code="rate_limited", message="Too much.", retryable=True, retry_after=1e9
    )

    visitor.feed(events.TimerFired("again"))

    assert visitor.frames(Kind.MESSAGE) == [sent, sent]
    assert max(timer.seconds for timer in visitor.all(effects.SetTimer) if timer.name == "again") <= 3610
