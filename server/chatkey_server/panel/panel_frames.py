"""What the agent panel's page asks for over its socket."""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypeAlias, TypedDict
from uuid import UUID

from chatkey_protocol.frames import FrameId, Seq
from chatkey_server.chat.desk import Filter, Place
from chatkey_server.peers.reader import Reader


class AskList(TypedDict):
    """The newest conversations, or those below a place in the list; `id` comes back with them."""

    type: Literal["list"]
    id: NotRequired[FrameId | None]
    filter: NotRequired[Filter]
    before: NotRequired[Place | None]


class AskThread(TypedDict):
    """The newest messages of a conversation, or those before a `seq`."""

    type: Literal["thread"]
    conversation: UUID
    before: NotRequired[Seq | None]


class Answer(TypedDict):
    """A message to the person, stored once under its `id`."""

    type: Literal["answer"]
    conversation: UUID
    id: FrameId
    body: str


class HandleCall(TypedDict):
    """Take the call of a conversation, or end it."""

    type: Literal["call"]
    conversation: UUID
    action: Literal["accept", "end"]


class Ping(TypedDict):
    """Is the connection alive?"""

    type: Literal["ping"]


PanelFrame: TypeAlias = AskList | AskThread | Answer | HandleCall | Ping

READER: Final[Reader[PanelFrame]] = Reader(PanelFrame)


def id_of(frame: PanelFrame) -> str | None:
    """Return the id with which the answer to a frame comes back, if it has one."""
    if frame["type"] == "list" or frame["type"] == "answer":
        return frame.get("id")
    return None
