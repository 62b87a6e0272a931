"""Sends every kind of hostile input to every route of an application, and reports failures."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from tests.hostile.routes import inputs
from tests.hostile.routes.asgi import Answer, Asgi, Call, Headers, ask
from tests.hostile.routes.tables import EVERY_METHOD, Door

WRITING: Final = frozenset({"DELETE", "PATCH", "POST", "PUT"})
OUTSIDE: Final = frozenset({404, 405})
"""The statuses of requests that reached no handler."""

Headed = Callable[[Door], Awaitable[Headers]]


async def nobody(_: Door) -> Headers:
    """Return no headers. The request comes from an anonymous caller."""
    return ()


class Tried(NamedTuple):
    """The outcome of one request: the status (None for an exception), and a description of the failure."""

    status: int | None
    wrong: list[str]


@dataclass
class Walk:
    """An application, with a valid request for each route. Each hostile request changes one part of a valid request."""

    app: Asgi
    honest: Mapping[str, str]
    """Values for path parameters, under `name`, or under `path name` for a single route."""
    members: Mapping[str, object] = field(default_factory=dict[str, object])
    """Honest values for body members, by name."""
    headed: Headed = nobody
    """Makes the headers of every request to a route. A hostile header replaces the honest one of that name."""
    before: Callable[[], Any] = lambda: None
    """Called before each request."""
    most: int | None = None
    """Limit on hostile requests per route. They are picked evenly from all, differently for each route."""
    failed: list[str] = field(default_factory=list[str])
    """The failures that were logged since the last request."""
    seen: dict[Door, set[int | None]] = field(default_factory=dict[Door, set[int | None]])
    """The statuses of each route's honest requests."""

    async def past(self, doors: Iterable[Door]) -> list[str]:
        """Send every hostile input to every route in `doors`, and return descriptions of the failures."""
        return [wrong for number, door in enumerate(doors) for wrong in await self._past(door, number)]

    async def _past(self, door: Door, number: int) -> list[str]:
        headers = await self.headed(door)
        with failures(self.failed):
            honest = [await self._tried(call) for call in self._honest(door, headers)]
            hostile = [await self._tried(call) for call in self._chosen(door, headers, number)]
        self.seen[door] = {tried.status for tried in honest}
        return [wrong for tried in (*honest, *hostile) for wrong in tried.wrong]

    async def _tried(self, call: Call) -> Tried:
        self.before()
        self.failed.clear()
        try:
            answer = await ask(self.app, call)
        except Exception as error:  # noqa: BLE001 - it is what the walk looks for
            return Tried(None, [f"{call} raised {error!r}"])
        wrong = [f"{call} was answered {answer.status}: {what}" for what in _wrong(answer)]
        return Tried(answer.status, [*wrong, *(f"{call} left in the log: {line}" for line in self.failed)])

    def _chosen(self, door: Door, headers: Headers, number: int) -> list[Call]:
        calls = list(self._hostile(door, headers))
        stride = -(-len(calls) // self.most) if self.most else 1
        return calls[number % stride :: stride]

    def _honest(self, door: Door, headers: Headers) -> Iterator[Call]:
        target = self._target(door, self._values(door))
        members = {name: self.members.get(name, "x") for name in door.members}
        for method in sorted(door.methods):
            call = Call(method, target, headers)
            yield _typed(call, inputs.JSON, json.dumps(members).encode()) if method in WRITING else call

    def _hostile(self, door: Door, headers: Headers) -> Iterator[Call]:
        values = self._values(door)
        for call in self._honest(door, headers):
            yield from self._bodies(door, call)
            for name in door.parameters:
                yield from (call._replace(target=self._target(door, {**values, name: odd})) for odd in inputs.PATHS)
            for query in inputs.queries(door.query):
                yield call._replace(target=door.at(values).encode() + b"?" + query.encode())
                if b"?" in call.target:
                    yield call._replace(target=call.target + b"&" + query.encode())
            yield from (call.with_headers(header) for header in inputs.HEADERS)
        methods = (*EVERY_METHOD, *inputs.ODD_METHODS)
        yield from (Call(method, door.at(values).encode(), headers) for method in methods)

    def _bodies(self, door: Door, call: Call) -> Iterator[Call]:
        bodies = list(inputs.BODIES.values())
        if call.method not in WRITING:
            bodies = bodies[::7]
        yield from (_typed(call, *body) for body in bodies)
        if call.method in WRITING:
            yield from (_typed(call, *body) for body in inputs.member_bodies(call.body))

    def _target(self, door: Door, values: dict[str, str]) -> bytes:
        asked = {name: str(self.members[name]) for name in door.query if name in self.members}
        return (door.at(values) + (f"?{urlencode(asked)}" if asked else "")).encode()

    def _values(self, door: Door) -> dict[str, str]:
        return {name: self._value(door, name) for name in door.parameters}

    def _value(self, door: Door, name: str) -> str:
        value = self.honest.get(f"{door.path} {name}", self.honest.get(name))
        assert value is not None, f"{door} is new: say what an honest caller writes for its {name}"
        return value

    def unreached(self) -> set[str]:
        """Return the paths of all routes whose valid request reached no handler."""
        return {door.path for door, statuses in self.seen.items() if not statuses - OUTSIDE}


def _typed(call: Call, media_type: bytes, body: bytes) -> Call:
    return call.with_headers((b"content-type", media_type))._replace(body=body)


def _wrong(answer: Answer) -> Iterator[str]:
    if not 200 <= answer.status < 500:
        yield answer.body[:200].decode("utf-8", "replace")
    for name, value in answer.headers:
        if b"\r" in name + value or b"\n" in name + value or b"\0" in name + value:
            yield f"the header {name!r} is {value!r}"


@contextmanager
def failures(lines: list[str]) -> Iterator[None]:
    """Append log records to `lines` if they are errors or have a traceback. This covers the logs of all libraries."""

    class Failures(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.levelno >= logging.ERROR or record.exc_info:
                lines.append(record.getMessage())

    handler = Failures()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
