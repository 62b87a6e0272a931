"""The frames of socket profile `wf.v1` (D-10): their kinds, and their members as typed dictionaries.

Every frame is one JSON object in one text message, with its kind in `type`. Times are integers, seconds since the
epoch. `id` is chosen by the widget, 1 to 64 of `A-Z a-z 0-9 _ -`, and comes back in the answer.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

ENTRIES: Final = 50
"""The most messages that are told at once."""


class Kind(StrEnum):
    """What a frame is. Some kinds are sent by both ends, with different members."""

    HELLO = "hello"
    CONNECT = "connect"
    READY = "ready"
    ERROR = "error"
    REFRESH = "refresh"
    REFRESHED = "refreshed"
    REAUTH = "reauth"
    MESSAGE = "message"
    ACK = "ack"
    HISTORY = "history"
    SEARCH = "search"
    CALL = "call"
    PING = "ping"
    PONG = "pong"


Identity = Literal["visitor", "member"]
Sender = Literal["customer", "agent"]
CallState = Literal["ringing", "active", "ended"]
CallAction = Literal["start", "end"]


class Pattern(NamedTuple):
    """What the whole of a text has to match."""

    regex: str


class Between(NamedTuple):
    """The least and the most that a number may be."""

    least: int
    most: int


class Length(NamedTuple):
    """The least and the most characters that a text may have."""

    least: int
    most: int | None


FrameId = Annotated[str, Pattern("[A-Za-z0-9_-]{1,64}")]
Seq = Annotated[int, Between(1, 2**31 - 1)]
Count = Annotated[int, Between(1, ENTRIES)]


class Hello(TypedDict):
    """Server, first of all: the nonce for the proof, and how long (seconds) the widget has to send it."""

    type: Literal["hello"]
    nonce: str
    server_time: int
    auth_timeout: int
    ping: int


class Connect(TypedDict):
    """Widget: the socket token, and the proof made for this connection."""

    type: Literal["connect"]
    token: str
    proof: str


class Ready(TypedDict):
    """Server: who is connected, and until when the token lasts."""

    type: Literal["ready"]
    identity: Identity
    uid: str
    expires_at: int
    server_time: int


class Error(TypedDict):
    """Server: what was refused. With an `id` it answers that frame and the socket stays; else a close follows.

    `cause`, where it can be told, is the likely mistake behind the refusal; `retry_after`, with `rate_limited`, is
    after how many seconds the same may succeed.
    """

    type: Literal["error"]
    code: str
    message: str
    retryable: bool
    cause: NotRequired[str]
    retry_after: NotRequired[int]
    id: NotRequired[str]


class Refresh(TypedDict):
    """Widget: a newer token of the same identity and key."""

    type: Literal["refresh"]
    token: str


class Refreshed(TypedDict):
    """Server: the newer token stands."""

    type: Literal["refreshed"]
    expires_at: int
    server_time: int


class Reauth(TypedDict):
    """Server: the token is about to end; without a `refresh` the socket closes with 4419 at `deadline`."""

    type: Literal["reauth"]
    deadline: int


class Headers(TypedDict, total=False):
    """What the widget says beside a message or call: the member's display name (contract 2.7)."""

    name: str | None


class SendMessage(TypedDict):
    """Widget: a message. The same `id` sent again is acknowledged again and stored once."""

    type: Literal["message"]
    id: FrameId
    headers: NotRequired[Headers]
    body: str


class Ack(TypedDict):
    """Server: the message is stored, as number `seq` of its conversation."""

    type: Literal["ack"]
    id: str
    seq: int
    sent_at: int


class Entry(TypedDict):
    """One stored message of a conversation."""

    id: str
    seq: int
    sender: Sender
    name: str | None
    body: str
    sent_at: int


class MessageEvent(Entry):
    """Server: a message of this conversation, from an agent or from another socket of the same identity."""

    type: Literal["message"]


class AskHistory(TypedDict):
    """Widget: the newest `limit` messages (default and most: 50), or those with a `seq` below `before`."""

    type: Literal["history"]
    id: FrameId
    before: NotRequired[Seq | None]
    limit: NotRequired[Count]


class History(TypedDict):
    """Server: messages in the order of `seq`, and whether older ones exist."""

    type: Literal["history"]
    id: str
    messages: list[Entry]
    more: bool


class AskSearch(TypedDict):
    """Widget: search one's own conversation for a text of at most 100 characters, letter case ignored."""

    type: Literal["search"]
    id: FrameId
    query: str


class SearchResult(TypedDict):
    """Server: the newest 50 messages that contain the text, in the order of `seq`."""

    type: Literal["search"]
    id: str
    messages: list[Entry]


class AskCall(TypedDict):
    """Widget: start a call, or end the one that is on."""

    type: Literal["call"]
    id: FrameId
    action: CallAction
    headers: NotRequired[Headers]


class CallEvent(TypedDict):
    """Server: where the call stands. `id` is there when it answers the widget's `call`."""

    type: Literal["call"]
    call_id: str
    state: CallState
    id: NotRequired[str]


class Ping(TypedDict):
    """Widget: are you there."""

    type: Literal["ping"]


class Pong(TypedDict):
    """Server: yes, and this is my time."""

    type: Literal["pong"]
    server_time: int


ChatFrame: TypeAlias = SendMessage | AskHistory | AskSearch | AskCall
"""What the chat answers; each of these has an `id`."""

WidgetFrame: TypeAlias = Connect | Refresh | ChatFrame | Ping
"""What a widget may send, which the server reads as it is declared here."""


class OAuthMessage(TypedDict):
    """The callback page to its opener, by `postMessage` (D-09). Either `token` or `error` is there."""

    type: Literal["wf:oauth"]
    providerId: str
    social: str
    nonce: NotRequired[str]
    token: NotRequired[str]
    error: NotRequired["OAuthError"]


class OAuthError(TypedDict):
    """Why the social login did not end in a token."""

    code: str
    message: str
