"""Parses the opening handshake of a WebSocket in the form that browsers send. The library handles all other forms.

uvicorn's HTTP parser has already checked the request, and passes it on in a normal form: names in lower case, one
space, one line for each header. Parsing the request again with the library would cost more than the rest of the opening
(D-16).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from websockets.utils import accept_key

Headers = list[tuple[bytes, bytes]]

MOST_BYTES: Final = 4096
"""Largest request that is parsed here. The library has its own limits for lines and headers, and its own refusals."""

_END: Final = b"\r\n\r\n"
_TARGET: Final = re.compile(rb"GET (?P<path>(?:/[A-Za-z0-9._~-]+)+)(?:\?(?P<query>[!-~]*))? HTTP/1\.1")
_LINE: Final = re.compile(rb"(?P<name>[a-z0-9-]+): (?P<value>[!-~](?:[ -~]*[!-~])?)")
_CONNECTION: Final = frozenset({b"upgrade", b"keep-alive, upgrade"})
_KEY: Final = re.compile(rb"[A-Za-z0-9+/]{21}[AQgw]==")
"""The base64 of 16 bytes (RFC 6455 4.1)."""
_SUBPROTOCOLS: Final = re.compile(rb"[A-Za-z0-9._+-]+(?:, ?[A-Za-z0-9._+-]+)*")
_BODY: Final = frozenset({b"content-length", b"transfer-encoding"})


class Handshake(NamedTuple):
    """The data of an opening handshake: path and query, headers, subprotocols, and the key that the response needs."""

    path: bytes
    query: bytes
    headers: Headers
    accept: str
    subprotocols: list[str]

    def answer(self, subprotocol: str | None, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Write the response that opens the socket (RFC 6455 4.2.2)."""
        lines = [
            b"HTTP/1.1 101 Switching Protocols",
            b"Upgrade: websocket",
            b"Connection: Upgrade",
            b"Sec-WebSocket-Accept: " + self.accept.encode(),
            *(name + b": " + value for name, value in headers),
        ]
        if subprotocol:
            lines.append(b"Sec-WebSocket-Protocol: " + subprotocol.encode())
        return b"\r\n".join((*lines, b"", b""))


def read(head: bytes) -> Handshake | None:
    """Return the handshake of a usual request. Return None for other requests, such as one with a repeated header."""
    if len(head) > MOST_BYTES or not head.endswith(_END):
        return None
    first, *lines = head.removesuffix(_END).split(b"\r\n")
    target = _TARGET.fullmatch(first)
    headers = [(line["name"], line["value"]) for line in map(_LINE.fullmatch, lines) if line]
    named = dict(headers)
    if target is None or len(named) < len(lines) or not _is_usual(named):
        return None
    return Handshake(
        path=target["path"],
        query=target["query"] or b"",
        headers=headers,
        accept=accept_key(named[b"sec-websocket-key"].decode()),
        subprotocols=_subprotocols(named),
    )


def _is_usual(named: dict[bytes, bytes]) -> bool:
    return (
        named.get(b"upgrade", b"").lower() == b"websocket"
        and named.get(b"connection", b"").lower() in _CONNECTION
        and named.get(b"sec-websocket-version") == b"13"
        and _KEY.fullmatch(named.get(b"sec-websocket-key", b"")) is not None
        and _SUBPROTOCOLS.fullmatch(named.get(b"sec-websocket-protocol", b"none")) is not None
        and not named.keys() & _BODY
    )


def _subprotocols(named: dict[bytes, bytes]) -> list[str]:
    offered = named.get(b"sec-websocket-protocol")
    return [each.strip() for each in offered.decode().split(",")] if offered else []
