"""Checks the body of a request to the admin panel before Piccolo reads it. A body must be empty or a JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from chatkey_protocol.codes import Code
from chatkey_server.identity.encoding import Malformed, json_object
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from litestar.types import HTTPScope, Receive, ReceiveMessage

MOST_BODY_BYTES: Final = 64 * 1024
JSON: Final = b"application/json"
CREDENTIALS: Final = ("username", "password", "current_password", "new_password", "confirm_new_password")
"""Members whose type Piccolo does not check."""


async def with_checked_body(scope: HTTPScope, receive: Receive) -> Receive:
    """Read and check the whole body, and return a `receive` that delivers the body at once. Raises `Refused`."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(Code.PARAMETER_INVALID, "The request's body is incomplete.")
        body += cast("bytes", message.get("body", b""))
        more = bool(message.get("more_body"))
        if len(body) > MOST_BODY_BYTES:
            raise Refused(Code.TOO_LARGE, f"The request is too large; the limit is {MOST_BODY_BYTES} bytes.")
    if body:
        _check(scope, body)
    messages = [cast("ReceiveMessage", {"type": "http.request", "body": body, "more_body": False})]

    async def receive_body() -> ReceiveMessage:
        return messages.pop() if messages else await receive()

    return receive_body


def _check(scope: HTTPScope, body: bytes) -> None:
    """Refuse a body that Piccolo could not read, or that Piccolo would read differently."""
    types = [value.partition(b";")[0].strip().lower() for name, value in scope["headers"] if name == b"content-type"]
    if types != [JSON]:
        raise Refused(Code.MEDIA_TYPE_UNSUPPORTED, "The admin panel accepts only JSON.", member="Content-Type")
    try:
        members = json_object(body)
    except Malformed as wrong:
        raise Refused(Code.PARAMETER_INVALID, f"The request's body cannot be read: {wrong}.", member="body") from None
    for name in CREDENTIALS:
        if not isinstance(members.get(name, ""), str):
            raise Refused(Code.PARAMETER_INVALID, f"{name} must be text.", member=name)
    if not all(map(_can_be_stored, _texts(members))):
        raise Refused(Code.PARAMETER_INVALID, "The body contains a character that cannot be stored.", member="body")


def _texts(value: object) -> Iterator[str]:
    """Yield all strings in a JSON value, including the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for member in value.items() for part in member for text in _texts(part))
    elif isinstance(value, list):
        yield from (text for part in value for text in _texts(part))


def _can_be_stored(text: str) -> bool:
    """Return whether a text is valid Unicode without NUL, which PostgreSQL does not accept."""
    return not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in text)
