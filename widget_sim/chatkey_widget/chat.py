"""The conversation: messages, history, search and calls. It works in the same way for visitors and members."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, Literal, assert_never

from chatkey_protocol.frames import CallAction, Kind
from chatkey_widget.context import Context
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.frame_members import UnreadableFrame, number, objects, text
from chatkey_widget.principal import Principal, Visitor, person
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.view import CallShown, Line, View

MESSAGE_CHARS: Final = 4000
"""The maximum length of a message in the composer, in characters. The server's default limit is the same."""

AGAIN_SECONDS: Final = 5.0
"""The time in seconds after which a request that the server could not handle is repeated.

The wait may be up to twice as long.
"""

LONGEST_SECONDS: Final = 3600.0
"""The longest time in seconds until such a request is repeated, even if the server asks for more."""

GAP_SECONDS: Final = 1.0
"""The time in seconds that the widget waits for missing messages, which may be late, before it requests them."""

CALL_ENDED_SECONDS: Final = 5.0
"""The time in seconds for which an ended call stays on the screen."""

_LAST: Final = 1 << 60
_CALLS: Final[dict[str, CallShown]] = {"ringing": "ringing", "active": "active", "ended": "ended"}

ChatKind = Literal[Kind.MESSAGE, Kind.ACK, Kind.HISTORY, Kind.SEARCH, Kind.CALL, Kind.ERROR]
"""The kinds of frames about the conversation.

An `error` belongs to them if its `id` is the id of a frame from the widget.
"""


@dataclass(slots=True)
class Conversation:
    """The messages and calls of one identity in this page."""

    lines: dict[str, Line] = field(default_factory=dict)
    more: bool = False
    loaded: bool = False
    unread: int = 0
    query: str = ""
    found: tuple[Line, ...] | None = None
    call: CallShown = "none"
    answered_at: float = 0.0
    history_id: str = ""
    search_id: str = ""
    call_id: str = ""

    @property
    def is_under_way(self) -> bool:
        """Whether the widget has sent a message that the server has not acknowledged."""
        return any(line.state == "sending" for line in self.lines.values())

    def call_seconds(self, now: float) -> int | None:
        """Return the seconds since the call was answered, or None if there is no active call."""
        return max(0, int(now - self.answered_at)) if self.call == "active" else None

    def numbers(self) -> list[int]:
        """Return the numbers of the known messages, newest first."""
        return sorted((line.seq for line in self.lines.values() if line.seq is not None), reverse=True)

    def gap(self) -> int | None:
        """Return the number just above the newest gap, or None. The server numbers messages without gaps."""
        return next((above for above, below in pairwise(self.numbers()) if below < above - 1), None)

    def in_order(self) -> tuple[Line, ...]:
        """Return the messages in the server's order. Unacknowledged messages come last."""
        return tuple(sorted(self.lines.values(), key=lambda line: _LAST if line.seq is None else line.seq))


class Chat:
    """Shows only the conversation of the widget's current identity."""

    def __init__(self, ctx: Context, link: ServiceLink) -> None:
        self._ctx = ctx
        self._link = link
        self._conversations: dict[tuple[str, str], Conversation] = {}
        self._conversation = Conversation()
        self._unclaimed: Conversation | None = self._conversation
        """Messages that were written before the widget had an identity. They belong to the first identity."""

    def enter(self, principal: Principal) -> None:
        """Switch to the conversation of this identity.

        When the identity is a member, delete the conversations of other members.
        """
        if not isinstance(principal, Visitor):
            self.forget_members(but=principal)
        begun, self._unclaimed = self._unclaimed or Conversation(), None
        self._conversation = self._conversations.setdefault(_name(principal), begun)

    def forget_members(self, *, but: Principal | None = None) -> None:
        """Delete the conversations of all members except this one.

        If one of them has an unacknowledged message, inform the person.
        """
        kept = {Visitor.__name__} if but is None else {Visitor.__name__, _name(but)}
        gone = [name for name in self._conversations if not kept & {name, name[0]}]
        if any(self._conversations.pop(name).is_under_way for name in gone):
            message = "The member has left, and with them a message that the service had not acknowledged."
            self._ctx.report(WidgetError(Fault.MESSAGE_DROPPED, message))

    def connected(self) -> None:
        """Resume the conversation on a new connection."""
        self._conversation.call = "none"
        self.again()

    def again(self) -> None:
        """Load the history, and send unacknowledged messages again.

        The messages keep their ids, so the server stores each only once.
        """
        self._ask_history()
        for line in self._conversation.in_order():
            if line.state == "sending":
                self._post(line)

    def write(self, body: str) -> None:
        """Send a message now, or when the connection is back."""
        body = body.strip()[:MESSAGE_CHARS]
        if not body:
            return
        line = Line(self._ctx.chance.token(), "customer", body, self._ctx.server_now, state="sending")
        self._conversation.lines[line.id] = line
        if self._online:
            self._post(line)

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
        conversation.query = query.strip()
        conversation.found = None
        if conversation.query and self._online:
            conversation.search_id = self._ctx.chance.token()
            self._link.send({"type": Kind.SEARCH, "id": conversation.search_id, "query": conversation.query})

    def call(self, action: CallAction) -> None:
        if not self._online:
            return
        if action == "start":
            self._conversation.call = "calling"
        self._conversation.call_id = self._ctx.chance.token()
        self._link.send({"type": Kind.CALL, "id": self._conversation.call_id, "action": action, **self._headers()})

    def call_over(self) -> None:
        if self._conversation.call == "ended":
            self._conversation.call = "none"

    def call_goes_on(self) -> None:
        """Continue to count the seconds of an active call, with the page's clock."""
        if self._conversation.call == "active":
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
            case Kind.ERROR:
                self._refused(frame)
            case _:
                assert_never(kind)

    def show(self, view: View) -> View:
        """Return a copy of the view that includes the conversation."""
        conversation = self._conversation
        return replace(
            view,
            lines=conversation.in_order(),
            more=conversation.more,
            loaded=conversation.loaded,
            unread=conversation.unread,
            query=conversation.query,
            found=conversation.found,
            call=conversation.call,
            call_seconds=conversation.call_seconds(self._ctx.now),
        )

    @property
    def _online(self) -> bool:
        return self._link.is_ready

    def _headers(self) -> Mapping[str, object]:
        name = person(self._link.principal).name
        return {"headers": {"name": name}} if name else {}

    def _post(self, line: Line) -> None:
        self._ctx.emit("message:sent", id=line.id)
        self._link.send({"type": Kind.MESSAGE, "id": line.id, **self._headers(), "body": line.body})

    def _ask_history(self, before: int | None = None) -> None:
        self._conversation.history_id = self._ctx.chance.token()
        older = {} if before is None else {"before": before}
        self._link.send({"type": Kind.HISTORY, "id": self._conversation.history_id, **older})

    def _found(self, frame: Mapping[str, object]) -> None:
        if frame.get("id") == self._conversation.search_id:
            self._conversation.found = tuple(map(_line, objects(frame, "messages")))

    def _history(self, frame: Mapping[str, object]) -> None:
        conversation = self._conversation
        if frame.get("id") != conversation.history_id:
            return  # a newer request replaced this one
        page = [_line(entry) for entry in objects(frame, "messages")]
        is_news = not {line.seq for line in page} <= {*conversation.numbers()}
        conversation.lines |= {line.id: line for line in page}
        if not page or page[0].seq == conversation.numbers()[-1]:  # otherwise older messages are already loaded
            conversation.more = frame.get("more") is True
        conversation.loaded = True
        self._ctx.emit("message:history", count=len(conversation.lines))
        if is_news:
            self.fill_gap()

    def _received(self, frame: Mapping[str, object], *, panel_open: bool) -> None:
        line = _line(frame)
        known = line.id in self._conversation.lines
        self._conversation.lines[line.id] = line
        self._ctx.emit("message:received", id=line.id, sender=line.sender)
        if line.sender == "agent" and not known and not panel_open:
            self._conversation.unread += 1
        self._look_for_gap()

    def _acknowledged(self, frame: Mapping[str, object]) -> None:
        line = self._conversation.lines.get(text(frame, "id"))
        if line is None:
            return
        self._conversation.lines[line.id] = replace(
            line, seq=int(number(frame, "seq")), sent_at=number(frame, "sent_at"), state="sent"
        )
        self._ctx.emit("message:acknowledged", id=line.id)
        self._look_for_gap()

    def _look_for_gap(self) -> None:
        if "gap" not in self._ctx.timers and self._conversation.gap() is not None:
            self._ctx.set_timer("gap", GAP_SECONDS)

    def _call_changed(self, frame: Mapping[str, object]) -> None:
        state = _CALLS.get(text(frame, "state"))
        if state is None:
            raise UnreadableFrame("state")
        is_answered = state == "active" and self._conversation.call != state
        self._conversation.call = state
        if is_answered:
            self._conversation.answered_at = self._ctx.now
            self.call_goes_on()
        self._ctx.emit("call:changed", state=state)
        if state == "ended":
            self._ctx.set_timer("call", CALL_ENDED_SECONDS)

    def _refused(self, frame: Mapping[str, object]) -> None:
        frame_id, conversation = text(frame, "id"), self._conversation
        line = conversation.lines.get(frame_id)
        is_under_way = line is not None and line.state == "sending"
        if frame.get("retryable") is True and (is_under_way or frame_id == conversation.history_id):
            self._put_off(frame)
            return
        if line is not None and is_under_way:
            conversation.lines[frame_id] = replace(line, state="refused")
        if frame_id == conversation.call_id:
            conversation.call = "none"
        if frame_id == conversation.search_id:
            conversation.found = ()
        message = f"{text(frame, 'code')}: {text(frame, 'message')}"
        self._ctx.report(WidgetError(Fault.MESSAGE_REFUSED, message))

    def _put_off(self, frame: Mapping[str, object]) -> None:
        self._ctx.report(WidgetError(text(frame, "code"), text(frame, "message"), phase="chat", retryable=True))
        told = min(number(frame, "retry_after"), LONGEST_SECONDS) if "retry_after" in frame else 0
        self._ctx.set_timer("again", told + AGAIN_SECONDS * (1 + self._ctx.chance.fraction()))


def _name(principal: Principal) -> tuple[str, str]:
    return type(principal).__name__, principal.uid


def _line(entry: Mapping[str, object]) -> Line:
    name = entry.get("name")
    return Line(
        id=text(entry, "id"),
        sender="agent" if text(entry, "sender") == "agent" else "customer",
        body=text(entry, "body"),
        sent_at=number(entry, "sent_at"),
        name=name if isinstance(name, str) else None,
        seq=int(number(entry, "seq")),
    )
