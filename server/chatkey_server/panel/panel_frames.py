"""What the agent panel's page asks for over its socket."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias
from uuid import UUID

import msgspec

from chatkey_server.chat.desk import EVERYTHING, Filter, Place
from chatkey_server.peers.reader import Reader
from chatkey_server.socket.frames import FrameId, Seq


class AskList(msgspec.Struct, frozen=True, tag_field="type", tag="list"):
    """The newest conversations, or those below a place in the list; `id` comes back with them."""

    id: FrameId | None = None
    filter: Filter = EVERYTHING
    before: Place | None = None


class AskThread(msgspec.Struct, frozen=True, tag_field="type", tag="thread"):
    """The newest messages of a conversation, or those before a `seq`."""

    conversation: UUID
    before: Seq | None = None


class Answer(msgspec.Struct, frozen=True, tag_field="type", tag="answer"):
    """A message to the person, stored once under its `id`."""

    conversation: UUID
    id: FrameId
    body: str


class HandleCall(msgspec.Struct, frozen=True, tag_field="type", tag="call"):
    """Take the call of a conversation, or end it."""

    conversation: UUID
    action: Literal["accept", "end"]


Frame: TypeAlias = AskList | AskThread | Answer | HandleCall

READER: Final[Reader[Frame]] = Reader(AskList, AskThread, Answer, HandleCall)
