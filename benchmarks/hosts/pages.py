"""Simulates open pages without a browser. The pages reconnect when necessary and record the messages that they show.

The pages treat frames as the widget and the panel do. Message numbers have no gaps, so a page can request missing
messages.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from secrets import token_hex
from typing import Any, Final

import jwt
from benchmarks.hosts.deployment import BASE_URL, PORT, PROVIDER, SECRET
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
from websockets.typing import Origin, Subprotocol

from chatkey_peer.key import BrowserKey
from chatkey_protocol.names import SOCKET_PATH, SUBPROTOCOL
from chatkey_widget.backoff import CROWD_BASE, full_jitter
from chatkey_widget.chat import GAP_SECONDS
from chatkey_widget.link_attempts import EARLY_ATTEMPTS
from chatkey_widget.service_link import ANSWER_SECONDS, CONNECT_SECONDS, PROBE_SECONDS, SILENCE_SECONDS

Json = dict[str, Any]

SOCKET_URI: Final = f"ws://localhost:{PORT}{SOCKET_PATH}"
PANEL_URI: Final = f"ws://localhost:{PORT}/agent/socket"
CROWD: Final = frozenset({1012, 1013})
AGAIN_SECONDS: Final = 1.0
"""Delay before a page repeats a request that the server refused temporarily."""
PING_SECONDS: Final = 25.0
PANEL_CONNECT_SECONDS: Final = 4.0
PANEL_QUIET_SECONDS: Final = 10.0
"""`CONNECT_MS` and `QUIET_MS` of the panel's script."""
CONVERSATION: Final = frozenset({"message", "ack"})
TOKEN_SECONDS: Final = 3600


class Ledger:
    """Records sent and acknowledged messages, with author and time. A message id is unique over all conversations."""

    def __init__(self) -> None:
        self.mark = token_hex(3)
        """Prefix of every uid in this run. Earlier runs used other prefixes."""
        self.sent: dict[str, tuple[float, str]] = {}
        """Time of sending and host, by message id."""
        self.acked: dict[str, dict[str, int]] = defaultdict(dict)
        """Message number by conversation and message id."""

    def new(self, author: str, host: str) -> str:
        """Record a new message as sent, and return its id."""
        message_id = f"{author}-{len(self.sent)}"
        self.sent[message_id] = (time.monotonic(), host)
        return message_id


class Page(ABC):
    """One page. It first tries to reconnect to the host that last accepted the page, and then to other hosts.

    `known` contains the ids of the shown messages, by conversation and number. `shown_at` contains the time at which
    each message was first shown.
    """

    def __init__(self, hosts: Sequence[str], place: int, ledger: Ledger) -> None:
        self._hosts = hosts
        self._place = place
        self._socket: ClientConnection | None = None
        self._doubt: asyncio.TimerHandle | None = None
        self._is_awaiting = False
        self._tries = 1
        self._gap_due: dict[str, asyncio.TimerHandle] = {}
        self._waiting: dict[str, Json] = {}
        self.ledger = ledger
        self.known: dict[str, dict[int, str]] = defaultdict(dict)
        self.shown_at: dict[str, float] = {}
        self.closes: Counter[int] = Counter()
        self.refused = 0
        self.trouble = ""
        self.opened: list[float] = []
        self.ready = asyncio.Event()

    @property
    def host(self) -> str:
        """The host to which the page is connected or is connecting."""
        return self._hosts[self._place % len(self._hosts)]

    @property
    def is_waiting(self) -> bool:
        """Whether a message that the page sent is still unacknowledged."""
        return bool(self._waiting)

    async def live(self, later: float = 0.0) -> None:
        """Connect after `later` seconds, and reconnect for ever."""
        await asyncio.sleep(later)
        while True:
            code = 0
            try:
                async with self._opened() as socket:
                    self._tries = 0
                    await self._converse(socket)
            except ConnectionClosed as closed:
                code = closed.rcvd.code if closed.rcvd else 1006
                self.trouble = str(closed)
                if self._tries:
                    self.refused += 1
                else:
                    self.closes[code] += 1
            except (OSError, InvalidHandshake, InvalidMessage) as error:  # includes TimeoutError
                self.trouble = repr(error)
                self.refused += not isinstance(error, OSError)
                self._place += 1
            self._tries += 1
            await asyncio.sleep(self.wait(self._tries, code))

    def missing(self, conversation: str) -> set[str]:
        """Return the acknowledged messages of a conversation that this page does not show."""
        return self.ledger.acked[conversation].keys() - set(self.known[conversation].values())

    def doubled(self, conversation: str) -> int:
        """Return how many messages of a conversation this page shows twice."""
        shown = self.known[conversation]
        return len(shown) - len(set(shown.values()))

    @abstractmethod
    def connecting(self) -> connect:
        """Return the context manager that opens the page's socket at `host`."""

    @property
    def patience(self) -> float:
        """The timeout in seconds for each step of connecting, which is shorter just after a lost socket."""
        is_early = self.opened and self._tries <= EARLY_ATTEMPTS
        return PROBE_SECONDS if is_early else CONNECT_SECONDS

    def quiet(self, kind: str) -> float:
        """Return the seconds that the page waits after a frame of this kind before it sends a ping."""
        return SILENCE_SECONDS if kind in CONVERSATION else PING_SECONDS

    @abstractmethod
    def wait(self, tries: int, code: int) -> float:
        """Return the seconds to wait before reconnecting. `tries` starts at 1. `code` is 0 without a close code."""

    @abstractmethod
    async def greet(self, socket: ClientConnection) -> None:
        """Authenticate, and wait until the server accepts the page."""

    @abstractmethod
    async def look(self) -> None:
        """Request messages that the page may have missed."""

    @abstractmethod
    async def ask_before(self, conversation: str, seq: int) -> None:
        """Request messages with a number below `seq`."""

    @abstractmethod
    async def take(self, frame: Json) -> None: ...

    async def say(self, frame: Mapping[str, object]) -> None:
        """Send a frame if the socket is open.

        Otherwise drop the frame, because the page repeats it after reconnecting.
        """
        if self._socket is None:
            return
        if not self._is_awaiting:
            self._doubt_after(ANSWER_SECONDS)
        self._is_awaiting = True
        with suppress(ConnectionClosed):
            await self._socket.send(json.dumps(frame))

    async def post(self, frame: Json) -> None:
        """Send a message, and repeat the message after each reconnect until it is acknowledged."""
        self._waiting[frame["id"]] = frame
        if self.ready.is_set():
            await self.say(frame)

    def acknowledged(self, conversation: str, ack: Json) -> None:
        """Record that the server has stored a message from this page."""
        if self._waiting.pop(ack["id"], None) is not None:
            self.ledger.acked[conversation][ack["id"]] = ack["seq"]
            self.show(conversation, [ack])

    def show(self, conversation: str, entries: Sequence[Json]) -> None:
        """Show messages, and check a moment later whether earlier messages are missing."""
        known, now = self.known[conversation], time.monotonic()
        for entry in entries:
            known[entry["seq"]] = entry["id"]
            self.shown_at.setdefault(entry["id"], now)
        if conversation not in self._gap_due and self._gap(conversation) is not None:
            loop = asyncio.get_running_loop()
            self._gap_due[conversation] = loop.call_later(GAP_SECONDS, self._fill, conversation)

    def try_again(self, frame: Json) -> None:
        """Repeat a refused message after a moment.

        If the error has no message id, request missed messages instead, because the error refuses such a request or
        precedes a close.
        """
        again = self._waiting.get(frame.get("id", ""))
        loop = asyncio.get_running_loop()
        loop.call_later(AGAIN_SECONDS, lambda: asyncio.ensure_future(self.say(again) if again else self.look()))

    def _gap(self, conversation: str) -> int | None:
        known = self.known[conversation]
        top = max(known, default=0)
        if len(known) == top:
            return None
        return next(seq for seq in range(top, 1, -1) if seq - 1 not in known)

    def _fill(self, conversation: str) -> None:
        del self._gap_due[conversation]
        above = self._gap(conversation)
        if above is not None and self.ready.is_set():
            asyncio.ensure_future(self.ask_before(conversation, above))  # noqa: RUF006 - the loop ends with the run

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[ClientConnection]:
        async with self.connecting() as socket:
            async with asyncio.timeout(self.patience):
                await self.greet(socket)
            self._socket = socket
            self.opened.append(time.monotonic())
            self.ready.set()
            self._heard("ready")
            try:
                yield socket
            finally:
                self.ready.clear()
                self._socket = None
                if self._doubt is not None:
                    self._doubt.cancel()

    async def _converse(self, socket: ClientConnection) -> None:
        await self.look()
        for frame in tuple(self._waiting.values()):
            await self.say(frame)
        while True:
            frame = json.loads(await socket.recv())
            self._heard(frame["type"])
            await self.take(frame)

    def _heard(self, kind: str) -> None:
        self._is_awaiting = False
        self._doubt_after(self.quiet(kind))

    def _doubt_after(self, seconds: float) -> None:
        self._look_after(seconds, self._probe)

    def _probe(self) -> None:
        """Send a ping, and drop the connection if no frame follows."""
        self._is_awaiting = True
        self._look_after(PROBE_SECONDS, self.drop)
        asyncio.ensure_future(self.say({"type": "ping"}))  # noqa: RUF006 - the loop ends with the run

    def drop(self) -> None:
        """Abort the connection without a close frame."""
        if self._socket is not None:
            self._socket.transport.abort()

    def _look_after(self, seconds: float, callback: Callable[[], None]) -> None:
        if self._doubt is not None:
            self._doubt.cancel()
        self._doubt = asyncio.get_running_loop().call_later(seconds, callback)


class Tab(Page):
    """A tab of a member's browser."""

    def __init__(self, uid: str, key: BrowserKey, hosts: Sequence[str], place: int, ledger: Ledger) -> None:
        super().__init__(hosts, place, ledger)
        self.uid = uid
        self._key = key
        now = int(time.time())
        claims = {"pid": PROVIDER, "uid": uid, "type": "user", "iat": now, "exp": now + TOKEN_SECONDS}
        self._token = jwt.encode({**claims, "cnf": {"jkt": key.jkt}}, SECRET, "HS256")

    async def write(self) -> None:
        message_id = self.ledger.new(self.uid, self.host)
        await self.post({"type": "message", "id": message_id, "body": f"This is message {message_id}."})

    def connecting(self) -> connect:
        return _connect(SOCKET_URI, self.host, self.patience, subprotocols=[Subprotocol(SUBPROTOCOL)])

    def wait(self, tries: int, code: int) -> float:
        """Return the same wait as the widget."""
        return full_jitter(tries, fraction=random.random(), base=CROWD_BASE if code in CROWD else 1.0)

    async def greet(self, socket: ClientConnection) -> None:
        """Answer the nonce with a proof."""
        hello = json.loads(await socket.recv())
        proof = self._key.prove(token=self._token, nonce=hello["nonce"], htu=SOCKET_URI)
        await socket.send(json.dumps({"type": "connect", "token": self._token, "proof": proof}))
        answer = json.loads(await socket.recv())
        if answer["type"] != "ready":
            await socket.recv()  # raises: a close follows

    async def look(self) -> None:
        """Request the newest messages. Gaps in the numbers of messages then show which older messages are missing."""
        await self.say({"type": "history", "id": "newest"})

    async def ask_before(self, conversation: str, seq: int) -> None:  # noqa: ARG002 - a tab has one conversation
        await self.say({"type": "history", "id": "older", "before": seq})

    async def take(self, frame: Json) -> None:
        if frame["type"] == "ack":
            self.acknowledged(self.uid, frame)
        elif frame["type"] == "message":
            self.show(self.uid, [frame])
        elif frame["type"] == "history":
            self.show(self.uid, frame["messages"])
        elif frame["type"] == "error" and "id" in frame:
            self.try_again(frame)


class Panel(Page):
    """A page of the agent panel, with every conversation open."""

    def __init__(self, cookie: str, hosts: Sequence[str], place: int, ledger: Ledger) -> None:
        super().__init__(hosts, place, ledger)
        self._cookie = cookie
        self._uids: dict[str, str] = {}
        """The uid of each conversation's member."""
        self._early: dict[str, list[Json]] = defaultdict(list)
        """Messages of conversations that are not listed yet."""

    async def write(self) -> None:
        """Answer in a random conversation."""
        if self._uids:
            conversation = random.choice(list(self._uids))
            message_id = self.ledger.new("agent", self.host)
            body = f"This is answer {message_id}."
            await self.post({"type": "answer", "conversation": conversation, "id": message_id, "body": body})

    def connecting(self) -> connect:
        return _connect(
            PANEL_URI, self.host, self.patience, origin=Origin(BASE_URL), additional_headers={"Cookie": self._cookie}
        )

    def wait(self, tries: int, code: int) -> float:  # noqa: ARG002 - the base class's signature
        """Return the same wait as the panel's script (its function `connect`)."""
        return min(2.0, 0.5 * 2.0 ** (tries - 1)) * (0.5 + random.random() / 2)

    @property
    def patience(self) -> float:
        """The timeout of the panel's script for one attempt."""
        return PANEL_CONNECT_SECONDS

    def quiet(self, kind: str) -> float:  # noqa: ARG002 - the base class's signature
        """Return how many seconds the panel's script waits for a frame before it sends a ping."""
        return PANEL_QUIET_SECONDS

    async def greet(self, socket: ClientConnection) -> None:
        """Wait until the server has accepted the cookie."""
        if json.loads(await socket.recv())["type"] != "ready":
            await socket.recv()  # raises: a close follows

    async def look(self) -> None:
        """Request the list of conversations. The page then requests each conversation that has new messages."""
        await self.say({"type": "list"})

    async def ask_before(self, conversation: str, seq: int) -> None:
        (found,) = [known for known, uid in self._uids.items() if uid == conversation]
        await self.say({"type": "thread", "conversation": found, "before": seq})

    async def take(self, frame: Json) -> None:
        if frame["type"] == "ack" and frame["id"] in self._waiting:
            self.acknowledged(self._uids[self._waiting[frame["id"]]["conversation"]], frame)
        elif frame["type"] == "message":
            await self._told(frame["conversation"], frame["message"])
        elif frame["type"] == "thread":
            self.show(self._uids[frame["conversation"]], frame["messages"])
        elif frame["type"] == "conversations":
            await self._listed(frame)
        elif frame["type"] == "missed":
            await self.look()
        elif frame["type"] == "error":
            self.try_again(frame)

    async def _told(self, conversation: str, entry: Json) -> None:
        if conversation in self._uids:
            self.show(self._uids[conversation], [entry])
            return
        if not self._early[conversation]:
            await self.look()
        self._early[conversation].append(entry)

    async def _listed(self, frame: Json) -> None:
        ours = [item for item in frame["items"] if item["uid"].startswith(self.ledger.mark)]
        for item in ours:
            uid = self._uids[item["id"]] = item["uid"]
            self.show(uid, self._early.pop(item["id"], []))
            if item["last"] is not None and item["last"]["seq"] not in self.known[uid]:
                await self.say({"type": "thread", "conversation": item["id"]})
        if frame["more"] and len(ours) == len(frame["items"]):
            last = frame["items"][-1]
            await self.say({"type": "list", "before": {"last_at": last["last_at"], "id": last["id"]}})


def _connect(uri: str, host: str, patience: float, **how: Any) -> connect:
    return connect(
        uri,
        host=host,
        port=PORT,
        proxy=None,
        compression=None,
        ping_interval=None,
        open_timeout=patience,
        close_timeout=1,
        max_queue=None,
        **how,
    )
