"""A small HTTP/1.1 server that can also send malformed responses, because it controls every byte."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from types import TracebackType
from typing import Final, Self

REASONS: Final = {200: "OK", 302: "Found", 400: "Bad Request"}
LARGEST: Final = 64 * 1024


@dataclass
class Request:
    """A received request. Header names are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    http2: bool = False

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (pair.partition("=") for pair in self.headers.get("cookie", "").split(";") if "=" in pair)
        return {name.strip(): value for name, _, value in pairs}


@dataclass
class Answer:
    """A response.

    `raw` replaces the complete response, after which the connection closes unless it `stays_open`. `chunked` sends the
    body in chunks, and `drips` is sent repeatedly after the body, without end.
    """

    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    body: bytes = b""
    raw: bytes | None = None
    chunked: bool = False
    version: str = "HTTP/1.1"
    closes: bool = False
    stays_open: bool = False
    drips: bytes = b""
    date: float | None = None
    """The Unix time for the Date header. None omits the header."""

    def set(self, name: str, value: str) -> Self:
        self.headers = [header for header in self.headers if header[0].lower() != name.lower()]
        self.headers.append((name, value))
        return self

    def add(self, name: str, value: str) -> Self:
        """Add a header. Existing headers with the same name are kept."""
        self.headers.append((name, value))
        return self

    def wire(self) -> bytes:
        if self.raw is not None:
            return self.raw
        names = {name.lower() for name, _ in self.headers}
        lines = [f"{self.version} {self.status} {REASONS.get(self.status, 'Answer')}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.date is not None:
            lines.append(f"Date: {formatdate(self.date, usegmt=True)}")
        lines += ["Connection: close"] if self.closes and "connection" not in names else []
        if self.chunked:
            lines.append("Transfer-Encoding: chunked")
        elif "content-length" not in names and self.version != "HTTP/1.0":
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode("utf-8") + (_chunks(self.body) if self.chunked else self.body)


Handler = Callable[[Request], Awaitable[Answer]]


class Server:
    """Serves several handlers on a free local port, in a thread. The first path segment selects the handler.

    A handler whose name is in lower case is also the whole site `<name>.localhost`.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mutants")
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def add(self, name: str, handler: Handler) -> str:
        """Serve a handler under `/name/`, and return that base address."""
        self._handlers[name] = handler
        return f"http://127.0.0.1:{self.port}/{name}"

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=128, limit=LARGEST)

    async def _end(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while (request := await _read(reader)) is not None:
                if request.method == "PRI":
                    from tests.check.mutants import http2_server  # noqa: PLC0415 - it imports this module

                    await http2_server.serve(reader, writer, self._answer)
                    break
                answer = await self._answer(request)
                writer.write(answer.wire())
                await writer.drain()
                while answer.drips:
                    await asyncio.sleep(0.02)
                    writer.write(answer.drips)
                    await writer.drain()
                ends = answer.closes or (answer.raw is not None and not answer.stays_open)
                if ends or request.headers.get("connection") == "close":
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, request: Request) -> Answer:
        name, _, domain = request.headers.get("host", "").partition(":")[0].partition(".")
        if domain == "localhost" and name in self._handlers:
            return await self._handlers[name](request)
        name = request.path.split("/")[1]
        handler = self._handlers.get(name)
        if handler is None:
            return Answer(404, [("Content-Type", "text/plain")], b"no such mutant")
        request.path = request.path.removeprefix(f"/{name}")
        return await handler(request)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("utf-8", "replace")
    except asyncio.IncompleteReadError:
        return None
    line, *rest = head.rstrip().split("\r\n")
    method, target, _ = line.split(" ", 2)
    headers = dict(_headers(rest))
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return made_request(method, target, headers, body)


def made_request(method: str, target: str, headers: dict[str, str], body: bytes, *, http2: bool = False) -> Request:
    path, _, query = target.partition("?")
    return Request(method, path, _query(query), headers, body, http2)


def _headers(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, _, value = line.partition(":")
        yield name.strip().lower(), value.strip()


def _query(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split("&") if pair)
    return {name: value for name, _, value in pairs}


def _chunks(body: bytes) -> bytes:
    parts = [body[start : start + 7] for start in range(0, len(body), 7)]
    return b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts) + b"0\r\n\r\n"
