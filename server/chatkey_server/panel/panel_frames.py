"""The frames that the agent panel's page sends over its socket."""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypeAlias, TypedDict
from uuid import UUID

from chatkey_protocol.frames import CallId, CallNonce, Candidate, EndReason, FrameId, Sdp, Seq
from chatkey_server.chat.desk import Filter, Place
from chatkey_server.peers.reader import Reader


class AskList(TypedDict):
    """Requests the newest conversations, or the conversations below a place in the list.

    The response has the same `id`.
    """

    type: Literal["list"]
    id: NotRequired[FrameId | None]
    filter: NotRequired[Filter]
    before: NotRequired[Place | None]


class AskThread(TypedDict):
    """Requests the newest messages of a conversation, or the messages before a `seq`."""

    type: Literal["thread"]
    conversation: UUID
    before: NotRequired[Seq | None]


class Answer(TypedDict):
    """A message to the person. A message is stored once per `id`."""

    type: Literal["answer"]
    conversation: UUID
    id: FrameId
    body: str


class HandleCall(TypedDict):
    """Accepts or ends the call of a conversation, or joins an accepted call again on a new socket.

    `id` is chosen by the page that accepts the call. Only a page that knows it can join the call again. `code` comes
    with `end` if the agent has not hung up, and says why the call ends.
    """

    type: Literal["call"]
    conversation: UUID
    id: NotRequired[FrameId]
    action: Literal["accept", "join", "end"]
    code: NotRequired[EndReason]


class PanelSignal(TypedDict):
    """An offer with the page's nonce, or an ICE candidate, for the caller of the call that this page has accepted."""

    type: Literal["signal"]
    call_id: CallId
    action: Literal["offer", "candidate"]
    sdp: NotRequired[Sdp]
    nonce: NotRequired[CallNonce]
    candidate: NotRequired[Candidate]


class Ping(TypedDict):
    """Checks whether the connection is alive."""

    type: Literal["ping"]


PanelFrame: TypeAlias = AskList | AskThread | Answer | HandleCall | PanelSignal | Ping

READER: Final[Reader[PanelFrame]] = Reader(PanelFrame)


def id_of(frame: PanelFrame) -> str | None:
    """Return the id that the response to this frame repeats, or None if the frame has no id."""
    if frame["type"] == "list" or frame["type"] == "answer" or frame["type"] == "call":
        return frame.get("id")
    return None
