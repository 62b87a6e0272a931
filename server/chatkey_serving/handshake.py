"""Checks the opening handshake of a WebSocket, and writes the response (RFC 6455 4.2)."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable
from typing import Final, NamedTuple

from chatkey_serving.request import Headers

VERSION: Final = b"13"
LONGEST: Final = 8 * 1024
"""The most bytes that the target or the value of a header may have."""

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KEY: Final = re.compile(rb"[A-Za-z0-9+/]{21}[AQgw]==")
"""The base64 of 16 bytes."""
_TOKEN: Final = rb"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_SUBPROTOCOLS: Final = re.compile(rb"[ \t]*%b(?:[ \t]*,[ \t]*%b)*[ \t]*" % (_TOKEN, _TOKEN))


class Handshake(NamedTuple):
    """The data of a handshake that the response needs, and the subprotocols that the peer offers."""

    accept: bytes
    subprotocols: list[str]

    def answer(self, subprotocol: str | None, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        """Write the response that opens the socket."""
        lines = [
            b"HTTP/1.1 101 Switching Protocols",
            b"Upgrade: websocket",
            b"Connection: Upgrade",
            b"Sec-WebSocket-Accept: " + self.accept,
            *(name + b": " + value for name, value in headers),
        ]
        if subprotocol:
            lines.append(b"Sec-WebSocket-Protocol: " + subprotocol.encode())
        return b"\r\n".join((*lines, b"", b""))


def read(method: bytes, target: bytes, headers: Headers) -> Handshake | None:
    """Return the handshake of an upgrade request with version 13. Returns None if the request is not valid."""
    keys = [value for name, value in headers if name == b"sec-websocket-key"]
    origins = [value for name, value in headers if name == b"origin"]
    offered = [value for name, value in headers if name == b"sec-websocket-protocol"]
    if method != b"GET" or len(keys) != 1 or not _KEY.fullmatch(keys[0]) or len(origins) > 1:
        return None
    if not all(map(_SUBPROTOCOLS.fullmatch, offered)) or _has_body(headers):
        return None
    if max(map(len, (target, *(value for _, value in headers)))) > LONGEST:
        return None
    return Handshake(
        accept=b64encode(hashlib.sha1(keys[0] + _GUID, usedforsecurity=False).digest()),
        subprotocols=[each.strip() for value in offered for each in value.decode("ascii").split(",")],
    )


def _has_body(headers: Headers) -> bool:
    return any(name == b"transfer-encoding" or (name == b"content-length" and value != b"0") for name, value in headers)
