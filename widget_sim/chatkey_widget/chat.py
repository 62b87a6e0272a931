"""The conversation: messages, history, search and calls. It works in the same way for visitors and members."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Literal, assert_never, get_args

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import CallAction, EndReason, Kind
from chatkey_widget import unsent
from chatkey_widget.context import Context
from chatkey_widget.conversation import Conversation, line_of
from chatkey_widget.effects import GiveBack, KeepUnsent
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import SoundEvent
from chatkey_widget.frame_members import UnreadableFrame, number, objects, text
from chatkey_widget.link_outcomes import Refused
from chatkey_widget.principal import Principal, Visitor, person
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.sound import Sound, why_ended
from chatkey_widget.texts import Notice
from chatkey_widget.typed_text import tidy
from chatkey_widget.unsent import Owner
from chatkey_widget.view import CallShown, Line, View

MESSAGE_CHARS: Final = 4000
"""The maximum length of a message in the composer, in characters. The server's default limit is the same."""

SEARCH_CHARS: Final = 100
"""The maximum length of a search text, in characters. The server's default limit is the same."""

AGAIN_SECONDS: Final = 5.0
"""The time in seconds after which a request that the server could not handle is repeated.

The wait may be up to twice as long.
"""

LONGEST_SECONDS: Final = 3600.0
"""The longest time in seconds until such a request is repeated, even if the server asks for more."""

GAP_SECONDS: Final = 1.0
"""The time in seconds that the widget waits for missing messages, which may be late, before it requests them."""

NEXT_SECONDS: Final = 0.1
"""The time in seconds between an answer and the next message of the queue. It keeps the widget below rate limits."""

MOST_TRIES: Final = 3
"""The number of connections in a row that may break on the same message. Then the widget does not send it again."""

HOLD_SECONDS: Final = 5.0
"""The time in seconds for which a connection must last before the widget sends such a message for the last time.

If the connection breaks earlier, the message is not the cause.
"""

FOR_GOOD: Final = frozenset({1003, 1007, 1008, Close.TOO_BIG, Close.BAD_FRAME})
"""The close codes that refuse the content of a frame.

1003 (type of data), 1007 (not UTF-8) and 1008 (policy) are codes of RFC 6455 that a proxy may send.
"""

ENDS_CALL: Final = frozenset({Close.TOKEN, Close.FORBIDDEN, Close.TOKEN_EXPIRED, Close.IDENTITY_CHANGED})
"""The close codes after which a call does not go on, because the identity is no longer valid."""

END_REASONS: Final = frozenset(get_args(EndReason))

CALL_ENDED_SECONDS: Final = 5.0
"""The time in seconds for which an ended call stays on the screen."""

OF_ANOTHER: Final[Notice] = "message_lost"
"""The notice of `message_dropped` for a member who did not write the message."""

_CALLS: Final[dict[str, CallShown]] = {"ringing": "ringing", "active": "active", "ended": "ended"}

ChatKind = Literal[Kind.MESSAGE, Kind.ACK, Kind.HISTORY, Kind.SEARCH, Kind.CALL, Kind.SIGNAL, Kind.ERROR]
"""The kinds of frames about the conversation.

An `error` belongs to them if its `id` is the id of a frame from the widget.
"""


class Chat:
    """Shows only the conversation of the widget's current identity."""

    def __init__(self, ctx: Context, link: ServiceLink) -> None:
        self._ctx = ctx
        self._link = link
        self._conversations: dict[Owner, Conversation] = {}
        self._conversation = Conversation()
        self._unclaimed: Conversation | None = self._conversation
        """Messages that were written before the widget had an identity. They belong to the first identity."""
        self._kept: str | None = None
        self._owner: Owner | None = None
        self._connected_at = 0.0
        self.sound = Sound(ctx, link)

    def restore(self, kept: str | None, visitor: str) -> None:
        """Take over the messages that an earlier page of this tab could not send. `visitor` is the uid of this key.

        A visitor whose key is lost cannot come back, so their text is put into the message box.
        """
        self._kept = kept
        for owner, line in unsent.read(kept):
            self._conversations.setdefault(owner, Conversation()).lines[line.id] = line
        lost = [owner for owner in self._conversations if owner[0] == Visitor.__name__ and owner[1] != visitor]
        self._drop(lost, "The key of the visitor who wrote this message is lost.")

    def keep(self) -> None:
        """Store the unsent messages and the call for the next page of this tab, if they have changed."""
        self.sound.keep()
        kept = unsent.write(
            (owner, line) for owner, conversation in self._conversations.items() for line in conversation.unsent
        )
        if kept != self._kept:
            self._kept = kept
            self._ctx.do(KeepUnsent(kept))

    def enter(self, principal: Principal) -> None:
        """Switch to the conversation of this identity.

        When the identity is a member, delete the conversations of other members.
        """
        if not isinstance(principal, Visitor):
            self.forget_members(but=principal)
        if self._owner not in {None, _name(principal)}:
            self.leave_call()
        self._owner = _name(principal)
        begun, self._unclaimed = self._unclaimed, None
        self._conversation = self._conversations.setdefault(_name(principal), begun or Conversation())
        if begun is not None:
            self._conversation.lines |= begun.lines

    def forget_members(self, *, but: Principal | None = None, another: bool = False) -> None:
        """Delete the conversations of all members except this one.

        If one of them has an unacknowledged message, inform the person. The text goes back to the message box, unless
        `another` person is there now, or another member: that person must not read it.
        """
        kept = {Visitor.__name__} if but is None else {Visitor.__name__, _name(but)}
        gone = [name for name in self._conversations if not kept & {name, name[0]}]
        message = "The member has left before the service acknowledged this member's message."
        self._drop(gone, message, another=another or but is not None)

    def _drop(self, owners: Iterable[Owner], message: str, *, another: bool = False) -> None:
        dropped = [line for owner in owners for line in self._conversations.pop(owner).unsent]
        if not dropped:
            return
        if not another:
            self._ctx.do(GiveBack("\n".join(line.body for line in dropped)))
        self._ctx.report(WidgetError(Fault.MESSAGE_DROPPED, message, said=OF_ANOTHER if another else None))

    def connected(self) -> None:
        """Resume the conversation on a new connection."""
        self._conversation.call = "calling" if self.sound.is_asking else "none"
        self._conversation.flying.clear()
        self._connected_at = self._ctx.now
        if self.sound.is_ringing:  # the server ends a call that rings when its socket is lost
            self._fail_call(why_ended(Code.CALL_LOST, "The connection was lost while the call rang."))
        self._join_call()
        self.again()

    def again(self) -> None:
        """Load the history, and send unacknowledged messages again, one after the other.

        The messages keep their ids, so the server stores each only once.
        """
        self._ask_history()
        self.post_next()

    def write(self, body: str) -> None:
        """Send a message now, or when the connection is back and the messages before it are sent."""
        body = tidy(body)
        if not body:
            return
        line = Line(self._ctx.chance.token(), "customer", body, self._ctx.server_now, state="sending")
        conversation = self._conversation
        queue = [waiting for waiting in conversation.unsent if waiting.id not in conversation.flying]
        conversation.lines[line.id] = line
        if len(body) > MESSAGE_CHARS:
            self._refuse(line, Code.TOO_LARGE, f"The message has {len(body)} characters; the limit is {MESSAGE_CHARS}.")
        elif self._online and not queue:
            self._post(line)

    def post_next(self) -> None:
        """Send the oldest message of the queue, unless an earlier message is not answered yet."""
        conversation = self._conversation
        if not self._online or conversation.flying or not conversation.unsent:
            return
        line = conversation.unsent[0]
        hold = self._connected_at + HOLD_SECONDS - self._ctx.now
        if conversation.tries[line.id] == MOST_TRIES - 1 and hold > 0:
            self._ctx.set_timer("next", hold)
        else:
            self._post(line)

    def lost(self, code: int, complaint: Refused | None) -> None:
        """Find out whether the connection ended because of a message. Such a message is never sent again.

        If several messages were not answered, any of them may be the cause. They are then sent one by one.
        """
        conversation = self._conversation
        if code in ENDS_CALL and self.sound.call is not None:
            self.sound.close()
            conversation.call = "none"
            self._ctx.report(why_ended(Code.CALL_LOST, "The server has closed the socket of the call."))
        if not conversation.flying:
            conversation.tries.clear()
        if len(conversation.flying) != 1 or conversation.is_searching:
            return
        (alone,) = conversation.flying
        conversation.tries[alone] += 1
        if code in FOR_GOOD:
            refused = complaint or Refused(_of_close(code), f"The connection was closed with {code}.")
            self._refuse(conversation.lines[alone], refused.code, refused.message)
        elif conversation.tries[alone] >= MOST_TRIES:
            message = f"The connection broke {MOST_TRIES} times in a row on this message, at last with {code}."
            self._refuse(conversation.lines[alone], Fault.SOCKET_UNREACHABLE, message)

    def fill_gap(self) -> None:
        gap = self._conversation.gap()
        if self._online and gap is not None:
            self._ask_history(before=gap)

    def older(self) -> None:
        """Request messages that are older than the oldest message on the screen."""
        numbers = self._conversation.numbers()
        if self._online and self._conversation.more and numbers:
            self._ask_history(before=numbers[-1])

    def search(self, query: str) -> None:
        """Search the conversation. An empty query ends the search."""
        conversation = self._conversation
        conversation.query = tidy(query)[:SEARCH_CHARS]
        conversation.found = None
        if conversation.query and self._online:
            conversation.search_id = self._ctx.chance.token()
            self._link.send({"type": Kind.SEARCH, "id": conversation.search_id, "query": conversation.query})

    def call(self, action: CallAction) -> None:
        """Start a call, which rings when the microphone is open, or end the call."""
        if action != "start":
            self._end_call()
        elif self._online:
            self._conversation.call = "calling"
            self.sound.start(self._ctx.chance.token())

    def _end_call(self, code: str | None = None) -> None:
        """End the call. `code` says why, if the person has not hung up."""
        does_not_ring = self.sound.is_asking
        self.sound.close()
        if does_not_ring:
            self._conversation.call = "none"
        elif self._online:
            self._send_call(self._ctx.chance.token(), "end", {"code": code} if code else {})

    def _ring(self, started: str) -> None:
        if self._online:
            self._send_call(started, "start", self._headers())
        else:
            self.sound.close()
            self._conversation.call = "none"

    def _send_call(self, frame_id: str, action: CallAction, members: Mapping[str, object]) -> None:
        self._conversation.call_id = frame_id
        self._link.send({"type": Kind.CALL, "id": frame_id, "action": action, **members})

    def leave_call(self) -> None:
        """Stop the sound at once and end the call of this tab, because the person of this widget changes."""
        if self.sound.call is not None:
            self._end_call()

    def heard(self, event: SoundEvent) -> None:
        """Handle an event of the call's sound. A fault ends the call, and the person is told why."""
        error = self.sound.handle(event)
        started = self.sound.ring()
        if started is not None:
            self._ring(started)
        self._fail_call(error)

    def _fail_call(self, error: WidgetError | None) -> None:
        if error is not None:
            self._ctx.report(error)
            self._end_call(error.code if error.code in END_REASONS else None)

    def _join_call(self) -> None:
        """After a lost connection or a reload, join the call that this tab has started."""
        frame_id = self._ctx.chance.token()
        started = self.sound.joining(frame_id)
        if started is not None:
            self._conversation.call = "active"
            self._send_call(frame_id, "join", {"started": started})

    def call_over(self) -> None:
        if self._conversation.call == "ended":
            self._conversation.call = "none"

    def call_goes_on(self) -> None:
        """Continue to count the seconds of an active call, with the page's clock."""
        if self._conversation.call == "active" and self.sound.seconds is not None:
            self._ctx.set_timer("second", 1.0)

    def read(self) -> None:
        self._conversation.unread = 0

    def frame(self, kind: ChatKind, frame: Mapping[str, object], *, panel_open: bool) -> None:
        match kind:
            case Kind.MESSAGE:
                self._received(frame, panel_open=panel_open)
            case Kind.ACK:
                self._acknowledged(frame)
            case Kind.HISTORY:
                self._history(frame)
            case Kind.SEARCH:
                self._found(frame)
            case Kind.CALL:
                self._call_changed(frame)
            case Kind.SIGNAL:
                self._fail_call(self.sound.frame(frame))
            case Kind.ERROR:
                self._refused(frame)
            case _:
                assert_never(kind)

    def show(self, view: View) -> View:
        """Return a copy of the view that includes the conversation."""
        conversation = self._conversation
        is_elsewhere = self.sound.call is None and conversation.call in {"ringing", "active"}
        return replace(
            view,
            lines=conversation.in_order(),
            more=conversation.more,
            loaded=conversation.loaded,
            unread=conversation.unread,
            query=conversation.query,
            found=conversation.found,
            call="elsewhere" if is_elsewhere else conversation.call,
            call_seconds=self.sound.seconds if conversation.call == "active" else None,
            sound=self.sound.shown,
        )

    @property
    def _online(self) -> bool:
        return self._link.is_ready

    def _headers(self) -> Mapping[str, object]:
        name = person(self._link.principal).name
        return {"headers": {"name": name}} if name else {}

    def _post(self, line: Line) -> None:
        self._conversation.flying[line.id] = None
        self._ctx.emit("message:sent", id=line.id)
        self._link.send({"type": Kind.MESSAGE, "id": line.id, **self._headers(), "body": line.body})

    def _answered(self, frame_id: str) -> None:
        """Note that the server has a message, or has refused it, and send the next one a moment later."""
        conversation = self._conversation
        conversation.tries.pop(frame_id, None)
        if frame_id in conversation.flying:
            del conversation.flying[frame_id]
            if conversation.unsent and not conversation.flying and "again" not in self._ctx.timers:
                self._ctx.set_timer("next", NEXT_SECONDS)

    def _refuse(self, line: Line, code: str, message: str) -> None:
        """Mark a message as refused, with the reason."""
        self._conversation.lines[line.id] = replace(line, state="refused", reason=code)
        self._answered(line.id)
        self._ctx.report(WidgetError(Fault.MESSAGE_REFUSED, f"{code}: {message}"))

    def _ask_history(self, before: int | None = None) -> None:
        self._conversation.history_id = self._ctx.chance.token()
        older = {} if before is None else {"before": before}
        self._link.send({"type": Kind.HISTORY, "id": self._conversation.history_id, **older})

    def _found(self, frame: Mapping[str, object]) -> None:
        if frame.get("id") == self._conversation.search_id:
            self._conversation.found = tuple(map(line_of, objects(frame, "messages")))

    def _history(self, frame: Mapping[str, object]) -> None:
        conversation = self._conversation
        if frame.get("id") != conversation.history_id:
            return  # a newer request replaced this one
        page = [line_of(entry) for entry in objects(frame, "messages")]
        is_news = not {line.seq for line in page} <= {*conversation.numbers()}
        conversation.lines |= {line.id: line for line in page}
        for line in page:
            self._answered(line.id)
        if not page or page[0].seq == conversation.numbers()[-1]:  # otherwise older messages are already loaded
            conversation.more = frame.get("more") is True
        conversation.loaded = True
        self._ctx.emit("message:history", count=len(conversation.lines))
        if is_news:
            self.fill_gap()

    def _received(self, frame: Mapping[str, object], *, panel_open: bool) -> None:
        line = line_of(frame)
        known = line.id in self._conversation.lines
        self._conversation.lines[line.id] = line
        self._answered(line.id)
        self._ctx.emit("message:received", id=line.id, sender=line.sender)
        if line.sender == "agent" and not known and not panel_open:
            self._conversation.unread += 1
        self._look_for_gap()

    def _acknowledged(self, frame: Mapping[str, object]) -> None:
        line = self._conversation.lines.get(text(frame, "id"))
        if line is None:
            return
        self._conversation.lines[line.id] = replace(
            line, seq=int(number(frame, "seq")), sent_at=number(frame, "sent_at"), state="sent", reason=""
        )
        self._answered(line.id)
        self._ctx.emit("message:acknowledged", id=line.id)
        self._look_for_gap()

    def _look_for_gap(self) -> None:
        if "gap" not in self._ctx.timers and self._conversation.gap() is not None:
            self._ctx.set_timer("gap", GAP_SECONDS)

    def _call_changed(self, frame: Mapping[str, object]) -> None:
        state = _CALLS.get(text(frame, "state"))
        if state is None:
            raise UnreadableFrame("state")
        call_id = text(frame, "call_id")
        self.sound.rang(frame.get("id"), call_id)
        self._conversation.call = state
        self._ctx.emit("call:changed", state=state)
        if state == "active":
            self.sound.accepted(call_id)
            self.call_goes_on()
        if state == "ended":
            self._ctx.set_timer("call", CALL_ENDED_SECONDS)
            self._call_ended(call_id, frame)

    def _call_ended(self, call_id: str, frame: Mapping[str, object]) -> None:
        if self.sound.call is None or self.sound.call.call_id != call_id:
            return
        self.sound.close()
        code = frame.get("code")
        if isinstance(code, str):
            self._ctx.report(why_ended(code, "The call ended, although nobody hung up."))

    def _refused(self, frame: Mapping[str, object]) -> None:
        frame_id, conversation = text(frame, "id"), self._conversation
        line = conversation.lines.get(frame_id)
        is_under_way = line is not None and line.state == "sending"
        if frame.get("retryable") is True and (is_under_way or frame_id == conversation.history_id):
            conversation.flying.pop(frame_id, None)
            self._put_off(frame)
            return
        code, message = text(frame, "code"), text(frame, "message")
        if line is not None and is_under_way:
            self._refuse(line, code, message)
            return
        had_call = self.sound.call is not None
        if self.sound.refused(frame_id, code, message):
            return
        if frame_id == conversation.call_id:
            conversation.call = "none"
            if had_call:  # otherwise it has been hung up
                self._ctx.report(why_ended(code, message))
            return
        if frame_id == conversation.search_id:
            conversation.found = ()
        self._ctx.report(WidgetError(Fault.MESSAGE_REFUSED, f"{code}: {message}"))

    def _put_off(self, frame: Mapping[str, object]) -> None:
        self._ctx.report(WidgetError(text(frame, "code"), text(frame, "message"), phase="chat", retryable=True))
        told = min(number(frame, "retry_after"), LONGEST_SECONDS) if "retry_after" in frame else 0
        self._ctx.set_timer("again", told + AGAIN_SECONDS * (1 + self._ctx.chance.fraction()))


def _name(principal: Principal) -> Owner:
    return type(principal).__name__, principal.uid


def _of_close(code: int) -> str:
    return Code.FRAME_TOO_LARGE if code == Close.TOO_BIG else Code.FRAME_INVALID
