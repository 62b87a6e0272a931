"""One request and one answer as plain values: an endpoint is a function from the one to the other."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import parse_qsl, urlencode

import msgspec

if TYPE_CHECKING:
    from chatkey_oauth.engine.flows import Leg

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

Headers = tuple[tuple[str, str], ...]

NO_STORE: Final[Headers] = (("cache-control", "no-store"), ("pragma", "no-cache"))


class Call:
    """A request. Names of headers are lower-case; of a repeated parameter the last value counts.

    Parameters keep bytes that are not UTF-8 as surrogate escapes, so that `state` is echoed byte for byte.
    While the lab is on, `leg` and `flow` tell which part of which login the request turned out to be.
    """

    leg: Leg | None = None
    flow: str | None = None

    def __init__(
        self,
        method: str,
        path: str,
        query_string: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        self.method = method
        self.path = path
        self.query_string = query_string
        self.headers = headers or {}
        self.body = body

    @cached_property
    def query(self) -> dict[str, str]:
        """The parameters of the address."""
        return dict(query_pairs(self.query_string))

    @cached_property
    def form_pairs(self) -> list[tuple[str, str]]:
        """The parameters of a form body, in order and with repetitions."""
        return [] if self.is_json else pairs(self.body.decode("ascii", "surrogateescape"))

    @cached_property
    def form(self) -> dict[str, str]:
        """The parameters of the body; the text members of a JSON object count too."""
        return self._json_members() if self.is_json else dict(self.form_pairs)

    @property
    def is_json(self) -> bool:
        """Tell whether the body says it is JSON."""
        return "json" in self.headers.get("content-type", "").lower()

    def _json_members(self) -> dict[str, str]:
        try:
            body = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return {k: v for k, v in body.items() if isinstance(v, str)} if isinstance(body, dict) else {}

    def cookie(self, name: str) -> str | None:
        """The value of a cookie, or None."""
        for part in self.headers.get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None


class Answer(msgspec.Struct, frozen=True):
    """A response. The content length is added when it is sent.

    `delay` is in seconds, or None: it is never sent. `cut` ends the connection before the answer or in its midst.
    """

    status: int
    body: bytes = b""
    headers: Headers = ()
    delay: float | None = 0.0
    cut: Literal["", "before", "midway"] = ""


Handler = Callable[[Call], Answer]


async def send_answer(send: Send, answer: Answer, *, with_body: bool = True) -> None:
    """Send an answer."""
    await send_head(send, answer)
    await send({"type": "http.response.body", "body": answer.body if with_body else b"", "more_body": False})


async def send_head(send: Send, answer: Answer) -> None:
    """Send the status and the headers of an answer."""
    headers = [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in answer.headers]
    headers.append((b"content-length", str(len(answer.body)).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})


def pairs(text: str) -> list[tuple[str, str]]:
    """Parse form-encoded text without losing blank values or bytes."""
    return parse_qsl(text, keep_blank_values=True, errors="surrogateescape") if text else []


@lru_cache(maxsize=64)
def query_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Parse a query, which comes twice in a login: the consent form brings that of the request along."""
    return tuple(pairs(text))


def encode(params: Mapping[str, str]) -> str:
    """Form-encode parameters, the inverse of `pairs`."""
    return urlencode(params, errors="surrogateescape")


def json_answer(data: Any, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    """Answer with compact JSON."""
    return Answer(status, msgspec.json.encode(data), (("content-type", "application/json; charset=utf-8"), *headers))


def text_answer(text: str, status: int = 200, content_type: str = "text/plain") -> Answer:
    """Answer with text."""
    return Answer(status, text.encode(), (("content-type", f"{content_type}; charset=utf-8"),))


def redirect(location: str) -> Answer:
    """Send the browser elsewhere with 302, as the real providers do."""
    return Answer(302, headers=(("location", location), ("cache-control", "no-store")))
