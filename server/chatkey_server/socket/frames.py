"""The frames a widget may send, read strictly (D-10)."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec

from chatkey_protocol.frames import CallAction
from chatkey_server.chat.entries import ENTRIES
from chatkey_server.peers.reader import Reader

FrameId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
Seq = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Count = Annotated[int, msgspec.Meta(ge=1, le=ENTRIES)]


class Connect(msgspec.Struct, frozen=True, tag_field="type", tag="connect"):
    """The socket token, and the proof made for this connection."""

    token: str
    proof: str


class Refresh(msgspec.Struct, frozen=True, tag_field="type", tag="refresh"):
    """A newer token of the same identity and key."""

    token: str


class Headers(msgspec.Struct, frozen=True):
    """What the widget says beside a message or call, for display only (contract 2.7)."""

    name: str | None = None


class SendMessage(msgspec.Struct, frozen=True, tag_field="type", tag="message"):
    """A message to be stored once under its `id`."""

    id: FrameId
    body: str
    headers: Headers = Headers()


class AskHistory(msgspec.Struct, frozen=True, tag_field="type", tag="history"):
    """The newest messages, or those before a `seq`."""

    id: FrameId
    before: Seq | None = None
    limit: Count = ENTRIES


class AskSearch(msgspec.Struct, frozen=True, tag_field="type", tag="search"):
    """A text to find in one's own conversation."""

    id: FrameId
    query: str


class AskCall(msgspec.Struct, frozen=True, tag_field="type", tag="call"):
    """Start a call, or end the one that is on."""

    id: FrameId
    action: CallAction
    headers: Headers = Headers()


class Ping(msgspec.Struct, frozen=True, tag_field="type", tag="ping"):
    """Are you there."""


ChatFrame: TypeAlias = SendMessage | AskHistory | AskSearch | AskCall
Frame: TypeAlias = Connect | Refresh | ChatFrame | Ping

READER: Final[Reader[Frame]] = Reader(Connect, Refresh, SendMessage, AskHistory, AskSearch, AskCall, Ping)
