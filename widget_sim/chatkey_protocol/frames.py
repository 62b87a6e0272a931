"""The frames of socket profile `wf.v1` (D-10): their kinds, and their members as typed dictionaries.

Every frame is one JSON object in one text message. The member `type` contains the kind. Times are integers, in seconds
since the epoch. The widget chooses `id`, which consists of 1 to 64 of the characters `A-Z a-z 0-9 _ -`. The server's
answer contains the same `id`.
"""

from enum import StrEnum
from typing import Annotated, Final, Literal, NamedTuple, NotRequired, TypeAlias, TypedDict

ENTRIES: Final = 50
"""The maximum number of messages in one frame."""


class Kind(StrEnum):
    """The kind of a frame. The server and the widget both send some of the kinds, with different members."""

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
    SIGNAL = "signal"
    PING = "ping"
    PONG = "pong"


Identity = Literal["visitor", "member"]
Sender = Literal["customer", "agent"]
CallState = Literal["ringing", "active", "ended"]
CallAction = Literal["start", "end", "join"]
EndReason = Literal[
    "microphone_denied",
    "microphone_dismissed",
    "microphone_missing",
    "microphone_busy",
    "microphone_lost",
    "microphone_unavailable",
    "call_unconnected",
    "call_local_network",
    "call_unsafe",
]
"""The reasons for which one side ends a call although nobody hung up."""
SignalAction = Literal["ask", "answer", "candidate"]


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


CallId = Annotated[str, Pattern("[0-9a-f-]{36}")]
Sdp = Annotated[str, Length(1, 8_000)]
Candidate = Annotated[str, Length(0, 1_000)]
CallProof = Annotated[str, Length(1, 4_096)]
CallNonce = Annotated[str, Pattern("[A-Za-z0-9_-]{16,64}")]


class Hello(TypedDict):
    """The server sends the nonce for the proof in its first frame, and the time limit for the proof in seconds."""

    type: Literal["hello"]
    nonce: str
    server_time: int
    auth_timeout: int
    ping: int


class Connect(TypedDict):
    """The widget sends the socket token, and the proof that was made for this connection."""

    type: Literal["connect"]
    token: str
    proof: str


class Ready(TypedDict):
    """The server reports who is connected, and when the token expires.

    `revision` is the revision of the profile that the server implements. It is missing before revision 3.
    """

    type: Literal["ready"]
    identity: Identity
    uid: str
    expires_at: int
    server_time: int
    revision: NotRequired[int]


class Error(TypedDict):
    """The server reports an error. With an `id`, the error answers the frame with that id, and the socket stays open.

    Without an `id`, the server closes the socket next. `cause`, if known, is the likely mistake that led to the error.
    `retry_after` comes with `rate_limited`: the number of seconds after which the same request may succeed.
    """

    type: Literal["error"]
    code: str
    message: str
    retryable: bool
    cause: NotRequired[str]
    retry_after: NotRequired[int]
    id: NotRequired[str]


class Refresh(TypedDict):
    """The widget sends a newer token for the same identity and key."""

    type: Literal["refresh"]
    token: str


class Refreshed(TypedDict):
    """The server confirms that it has accepted the newer token."""

    type: Literal["refreshed"]
    expires_at: int
    server_time: int


class Reauth(TypedDict):
    """The server warns that the token is about to expire.

    Without a `refresh`, the socket closes with 4419 at `deadline`.
    """

    type: Literal["reauth"]
    deadline: int


class Headers(TypedDict, total=False):
    """Additional data of a message or call: the member's display name (contract 2.7)."""

    name: str | None


class SendMessage(TypedDict):
    """The widget sends a message.

    A message whose `id` was already stored is acknowledged again, but not stored again.
    """

    type: Literal["message"]
    id: FrameId
    headers: NotRequired[Headers]
    body: str


class Ack(TypedDict):
    """The server confirms that the message is stored. `seq` is the number of the message in the conversation."""

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
    """The server reports a new message from an agent or from another socket of the same identity."""

    type: Literal["message"]


class AskHistory(TypedDict):
    """The widget asks for the newest `limit` messages (50 by default and at most).

    With `before`, the widget asks only for messages whose `seq` is below `before`.
    """

    type: Literal["history"]
    id: FrameId
    before: NotRequired[Seq | None]
    limit: NotRequired[Count]


class History(TypedDict):
    """The server sends messages in the order of `seq`, and says whether older messages exist."""

    type: Literal["history"]
    id: str
    messages: list[Entry]
    more: bool


class AskSearch(TypedDict):
    """The widget searches its own conversation for a text of at most 100 characters, ignoring letter case."""

    type: Literal["search"]
    id: FrameId
    query: str


class SearchResult(TypedDict):
    """The server sends the newest 50 messages that contain the text, in the order of `seq`."""

    type: Literal["search"]
    id: str
    messages: list[Entry]


class AskCall(TypedDict):
    """The widget starts a call, ends the current one, or joins it again after its socket was lost or its page reloaded.

    `started` comes with `join`: the `id` of the frame that started the call, which only the caller's tab knows. `code`
    comes with `end` if the person has not hung up, and says why the call ends.
    """

    type: Literal["call"]
    id: FrameId
    action: CallAction
    headers: NotRequired[Headers]
    started: NotRequired[FrameId]
    code: NotRequired[EndReason]


class CallEvent(TypedDict):
    """The server reports the state of the call. `id` is present if the frame answers a `call` of the widget.

    `code` is present if the call ended for another reason than that somebody hung up: the server's reason, or the one
    that the other side gave.
    """

    type: Literal["call"]
    call_id: str
    state: CallState
    code: NotRequired[str]
    id: NotRequired[str]


class SendSignal(TypedDict):
    """The widget negotiates the audio of a call that an agent has accepted. Only the calling socket may send it.

    `ask` asks the agent's page for an offer. `answer` answers the newest offer with the description `sdp`, and with the
    proof that binds both DTLS fingerprints to the connection key. `candidate` adds an ICE candidate.
    """

    type: Literal["signal"]
    id: FrameId
    call_id: CallId
    action: SignalAction
    sdp: NotRequired[Sdp]
    proof: NotRequired[CallProof]
    candidate: NotRequired[Candidate]


class IceServer(TypedDict):
    """A STUN or TURN server, as `RTCPeerConnection` takes it."""

    urls: list[str]
    username: NotRequired[str]
    credential: NotRequired[str]


class Signal(TypedDict):
    """The server passes on an offer or a candidate of the agent's page, or confirms that it has `passed` a signal on.

    The server vouches that the `fingerprint` of an `offer` comes from the page of the agent who accepted the call. An
    answer that was passed on was verified. `id` is the `id` of the widget's frame. With `relay_only`, the sound may
    only go through the TURN servers.
    """

    type: Literal["signal"]
    call_id: str
    event: Literal["offer", "candidate", "passed"]
    id: NotRequired[str]
    sdp: NotRequired[str]
    nonce: NotRequired[str]
    fingerprint: NotRequired[str]
    ice_servers: NotRequired[list[IceServer]]
    relay_only: NotRequired[bool]
    candidate: NotRequired[str]


class Ping(TypedDict):
    """The widget checks that the server still answers."""

    type: Literal["ping"]


class Pong(TypedDict):
    """The server answers a `ping` with its time."""

    type: Literal["pong"]
    server_time: int


ChatFrame: TypeAlias = SendMessage | AskHistory | AskSearch | AskCall | SendSignal
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
