"""The clients: one that repeats the request for a discovery document, and one that logs in."""

from __future__ import annotations

import asyncio
import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Final, cast
from urllib.parse import parse_qs, urlencode, urlsplit

import uvloop
from benchmarks.fake_oauth.servers import CALLBACK, CLIENT_ID, Server

from chatkey_stack.ports import LOOPBACK

LOGINS: Final = 128
AT_ONCE: Final = 16
DISCOVERY_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 300

VERIFIER: Final = "only-for-the-benchmark-0123456789-abcdefghij"
CHALLENGE: Final = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
CHUNKED: Final = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
BEARER: Final = re.compile(rb'"access_token": *"([^"]+)"')
LAST_CHUNK: Final = b"\r\n0\r\n\r\n"
LOCATION: Final = re.compile(rb"\r\nlocation: *([^\r]+)", re.IGNORECASE)


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
            self._waiting.set_exception(exc or ConnectionError("The server closed the connection before it answered."))

    def close(self) -> None:
        self._waiting.cancel()
        self._transport.abort()


def head(server: Server, method: str, path: str) -> bytes:
    """Return the request line and the few headers that matter; browsers and backends send many more."""
    return f"{method} {path} HTTP/1.1\r\nHost: {server.at}\r\nAccept: application/json\r\nUser-Agent: b\r\n".encode()


def length_of(answer: bytes) -> int:
    """Return the length of a response, including its head.

    For a chunked response, return 0 until the last chunk arrives.
    """
    body = answer.partition(b"\r\n\r\n")[2]
    found = LENGTH.search(answer)
    if found is None and CHUNKED.search(answer):
        return len(answer) if answer.endswith(LAST_CHUNK) else 0
    if found is None:
        raise RuntimeError(f"The answer has no Content-Length: {answer.decode()}")
    return len(answer) - len(body) + int(found[1])
