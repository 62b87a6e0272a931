"""The chat's frames and their answers (D-10, 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, assert_never

from chatkey_protocol.frames import (
    ENTRIES,
    Ack,
    AskCall,
    CallEvent,
    ChatFrame,
    Error,
    History,
    SearchResult,
    SendMessage,
    Signal,
)
from chatkey_server import metrics
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.writer import error

if TYPE_CHECKING:
    from chatkey_server.chat.service import Chat
    from chatkey_server.identity.tokens import SocketIdentity
    from chatkey_server.peers.seen import Seen
    from chatkey_server.socket.calling import Calling

ChatAnswer: TypeAlias = Ack | History | SearchResult | CallEvent | Signal | Error


class Asking(NamedTuple):
    """The socket that asks: who has connected it, its name among the sources, its client address, and its call."""

    identity: SocketIdentity
    source: str
    address: str
    calling: Calling


async def answer(chat: Chat, asking: Asking, frame: ChatFrame, now: float) -> ChatAnswer:
    """Return the answer to one frame. A refusal becomes an `error` with the frame's id, and the socket stays open."""
    try:
        return await _answer(chat, asking, frame, now)
    except Refused as refused:
        metrics.refused(refused.code)
        return error(refused, frame["id"])


def note(seen: Seen, frame: ChatFrame, answer: ChatAnswer) -> None:
    """Record the messages in an answer, so that these messages are not sent again.

    A socket that has received the newest page of its history can request all older messages.
    """
    if answer["type"] == "ack":
        seen.note(answer["seq"])
    elif answer["type"] == "history" and frame["type"] == "history":
        seqs = [entry["seq"] for entry in answer["messages"]]
        for seq in seqs:
            seen.note(seq)
        if frame.get("before") is None:
            seen.settle(max(seqs, default=0))


async def _answer(chat: Chat, asking: Asking, frame: ChatFrame, now: float) -> ChatAnswer:
    identity, source, address, calling = asking
    if frame["type"] == "message":
        name = _shown_name(frame)
        entry = await chat.post(identity, frame["id"], frame["body"], name=name, source=source, address=address)
        return Ack(type="ack", id=frame["id"], seq=entry["seq"], sent_at=entry["sent_at"])
    if frame["type"] == "history":
        before, limit = frame.get("before"), frame.get("limit", ENTRIES)
        messages, more = await chat.history(identity, before, limit, address=address)
        return History(type="history", id=frame["id"], messages=messages, more=more)
    if frame["type"] == "search":
        found = await chat.search(identity, frame["query"], address=address)
        return SearchResult(type="search", id=frame["id"], messages=found)
    if frame["type"] == "call":
        event = await calling.call(identity, frame, _shown_name(frame), address)
        return {**event, "id": frame["id"]}
    if frame["type"] == "signal":
        return await calling.signal(identity, frame, now)
    assert_never(frame)


def _shown_name(frame: SendMessage | AskCall) -> str | None:
    return frame.get("headers", {}).get("name")
