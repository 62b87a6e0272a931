"""The frames of socket profile `wf.v1` (D-10): their kinds, and their members as typed dictionaries.

Every frame is one JSON object in one text message, with its kind in `type`. Times are integers, seconds since the
epoch. The widget chooses `id`, 1 to 64 of `A-Z a-z 0-9 _ -`, and the server's answer contains the same `id`.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

ENTRIES: Final = 50
"""The maximum number of messages in one frame."""


class Kind(StrEnum):
    """The kind of a frame. Both ends send some of the kinds, with different members."""

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
    """A regular expression that the whole text must match."""

    regex: str


class Between(NamedTuple):
    """The smallest and the largest value of a number."""

    least: int
    most: int


class Length(NamedTuple):
    """The smallest and the largest number of characters of a text."""

    least: int
    most: int | None


FrameId = Annotated[str, Pattern("[A-Za-z0-9_-]{1,64}")]
Seq = Annotated[int, Between(1, 2**31 - 1)]
Count = Annotated[int, Between(1, ENTRIES)]


class Hello(TypedDict):
    """Server, first frame: the nonce for the proof, and how long (seconds) the widget has to send the proof."""

    type: Literal["hello"]
    nonce: str
    server_time: int
    auth_timeout: int
    ping: int


class Connect(TypedDict):
    """Widget: the socket token, and the proof that was made for this connection."""

    type: Literal["connect"]
    token: str
    proof: str


class Ready(TypedDict):
    """Server: who is connected, and when the token expires."""

    type: Literal["ready"]
    identity: Identity
    uid: str
    expires_at: int
    server_time: int


class Error(TypedDict):
    """Server: an error. With an `id`, it answers that frame and the socket stays open. Without one, a close follows.

    `cause`, if known, is the likely mistake that led to the error. `retry_after` comes with `rate_limited`: the
    number of seconds after which the same request may succeed.
    """

    type: Literal["error"]
    code: str
    message: str
    retryable: bool
    cause: NotRequired[str]
    retry_after: NotRequired[int]
    id: NotRequired[str]


class Refresh(TypedDict):
    """Widget: a newer token for the same identity and key."""

    type: Literal["refresh"]
    token: str


class Refreshed(TypedDict):
    """Server: the newer token was accepted."""

    type: Literal["refreshed"]
    expires_at: int
    server_time: int


class Reauth(TypedDict):
    """Server: the token is about to expire. Without a `refresh`, the socket closes with 4419 at `deadline`."""

    type: Literal["reauth"]
    deadline: int


class Headers(TypedDict, total=False):
    """Additional data of a message or call: the member's display name (contract 2.7)."""

    name: str | None


class SendMessage(TypedDict):
    """Widget: a message. If the same `id` is sent again, it is acknowledged again, but stored only once."""

    type: Literal["message"]
    id: FrameId
    headers: NotRequired[Headers]
    body: str


class Ack(TypedDict):
    """Server: the message is stored. `seq` is its number in the conversation."""

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
    """Server: a new message in this conversation, from an agent or from another socket of the same identity."""

    type: Literal["message"]


class AskHistory(TypedDict):
    """Widget: ask for the newest `limit` messages (default and most: 50), or the newest with a `seq` below `before`."""

    type: Literal["history"]
    id: FrameId
    before: NotRequired[Seq | None]
    limit: NotRequired[Count]


class History(TypedDict):
    """Server: messages in the order of `seq`, and whether there are older ones."""

    type: Literal["history"]
    id: str
    messages: list[Entry]
    more: bool


class AskSearch(TypedDict):
    """Widget: search its own conversation for a text of at most 100 characters, ignoring letter case."""

    type: Literal["search"]
    id: FrameId
    query: str


class SearchResult(TypedDict):
    """Server: the newest 50 messages that contain the text, in the order of `seq`."""

    type: Literal["search"]
    id: str
    messages: list[Entry]


class AskCall(TypedDict):
    """Widget: start a call, or end the current one."""

    type: Literal["call"]
    id: FrameId
    action: CallAction
    headers: NotRequired[Headers]


class CallEvent(TypedDict):
    """Server: the state of the call. `id` is present if this answers the widget's `call`."""

    type: Literal["call"]
    call_id: str
    state: CallState
    id: NotRequired[str]


class Ping(TypedDict):
    """Widget: check that the server still answers."""

    type: Literal["ping"]


class Pong(TypedDict):
    """Server: the answer to a `ping`, with the server's time."""

    type: Literal["pong"]
    server_time: int


ChatFrame: TypeAlias = SendMessage | AskHistory | AskSearch | AskCall
"""The frames that the chat part of the server answers. Each has an `id`."""

WidgetFrame: TypeAlias = Connect | Refresh | ChatFrame | Ping
"""All frames that a widget may send. The server validates them against these declarations."""


class OAuthMessage(TypedDict):
    """The callback page's message to its opener, sent with `postMessage` (D-09). It has either `token` or `error`."""

    type: Literal["wf:oauth"]
    providerId: str
    social: str
    nonce: NotRequired[str]
    token: NotRequired[str]
    error: NotRequired["OAuthError"]


class OAuthError(TypedDict):
    """The reason why a social login did not result in a token."""

    code: str
    message: str
