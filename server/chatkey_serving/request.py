"""Reads the head of a request so that no other reader can understand it differently (RFC 9112)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import httptools

Headers = list[tuple[bytes, bytes]]

END: Final = b"\r\n\r\n"
"""The end of a head, and of a body in chunks."""
SPACE: Final = 32
INVALID: Final = "Invalid HTTP request received."
MOST_LINES: Final = 100
"""How many header lines a request may have. Browsers send about 20."""

_VERSIONS: Final = {b"HTTP/1.1": "1.1", b"HTTP/1.0": "1.0"}
_OTHER_VERSION: Final = re.compile(rb"HTTP/\d\.\d")
_NO_CONTROLS: Final = bytes({*range(256)} - {*range(9), 11, 12, *range(14, 32), 127})
_HOST: Final = re.compile(rb"(?:\[[0-9A-Za-z:.%]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
"""A `Host` (RFC 9110 7.2). Other characters could be parsed differently by different readers."""
_CLOSE: Final = re.compile(rb"(?:^|,)[ \t]*close[ \t]*(?:,|$)", re.IGNORECASE)
_OFFER: Final = re.compile(rb"(?<=\r\n)upgrade[ \t]*:[^\r\n]*\r\n", re.IGNORECASE)
_DECISIVE: Final = frozenset({b"host", b"transfer-encoding", b"content-length", b"connection", b"expect", b"upgrade"})


class Invalid(ValueError):
    """The request gets a response with `status` and this message, and its connection ends."""

    def __init__(self, message: str = INVALID, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Request:
    """The request line, and what the connection must know of the headers. Raises `Invalid`.

    `body_bytes` is None for a body in chunks. `authority` is the host of a target in absolute form (RFC 9112 3.2.2).
    """

    __slots__ = (
        "authority", "awaits_continue", "body_bytes", "closes", "headers", "method", "offers_socket", "query",
        "raw_path", "target", "version",
    )  # fmt: skip

    def __init__(self, head: bytes) -> None:
        try:
            self.method, self.target, version = head[: head.find(b"\r\n")].split(b" ")
        except ValueError:
            raise Invalid from None
        if head[0] <= SPACE:  # the parser would skip a line end that is not CRLF
            raise Invalid
        try:
            self.version = _VERSIONS[version]
        except KeyError:
            if _OTHER_VERSION.fullmatch(version):
                raise Invalid("This server only supports HTTP/1.1 and HTTP/1.0.", 505) from None
            raise Invalid from None
        self.authority: bytes | None = None
        target = self.target
        if b"#" in target or not target.isascii():
            raise Invalid
        if target[:1] == b"/":
            self.raw_path, _, self.query = target.partition(b"?")
        else:
            self._read_absolute(target)

    def read(self, headers: Headers) -> None:
        """Check `Host` (RFC 9112 3.2) and the framing of the body (6.3)."""
        host = coding = length = None
        self.closes, self.awaits_continue, self.offers_socket = self.version == "1.0", False, None
        for name, value in headers:
            if name not in _DECISIVE:
                continue
            if name == b"host":
                if host is not None or not _HOST.fullmatch(value):
                    raise Invalid
                host = value
            elif name == b"connection":
                self.closes |= _CLOSE.search(value) is not None
            elif name == b"content-length":
                length = value
            elif name == b"transfer-encoding":
                if coding is not None:
                    raise Invalid
                coding = value.lower()
            elif name == b"expect":
                self.awaits_continue |= self.version != "1.0" and value.lower() == b"100-continue"
            else:
                self.offers_socket = self.offers_socket is None and value.lower() == b"websocket"
        if host is None and self.version != "1.0":
            raise Invalid
        self.body_bytes = self._body_bytes(coding, length)
        self.headers = headers
        if self.authority is not None:
            others = (each for each in headers if each[0] != b"host")
            self.headers = [(b"host", self.authority), *others]

    @property
    def path(self) -> str:
        """The path, decoded."""
        path = self.raw_path.decode("ascii")
        return unquote(path) if "%" in path else path

    def _body_bytes(self, coding: bytes | None, length: bytes | None) -> int | None:
        if coding is None:
            return int(length) if length else 0
        if length is not None or self.version == "1.0":
            raise Invalid
        if coding != b"chunked":
            raise Invalid("This server only supports the transfer coding `chunked`.", 501)
        return None

    def _read_absolute(self, target: bytes) -> None:
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            raise Invalid from None
        if (url.schema or b"").lower() not in (b"http", b"https") or url.userinfo:
            raise Invalid
        self.raw_path, self.query = url.path or b"/", url.query or b""
        self.authority = re.split(rb"[/?]", target.partition(b"://")[2], maxsplit=1)[0]


def check_unfinished(head: bytes, since: int, most: int) -> None:
    """Refuse a head that is too large, or wrong, before its end arrives. Bytes before `since` are known to be right."""
    new = head[max(0, since - 1) :]
    ends = new.count(b"\r\n")
    if ends or len(head) > most:
        check_size(head, most)
    has_bare_end = new.count(b"\n") > ends + (new[:1] == b"\n") or new.count(b"\r") > ends + (new[-1:] == b"\r")
    if has_bare_end or new.translate(None, _NO_CONTROLS) or head[:1] in (b" ", b"\t", b"\n"):
        raise Invalid


def check_size(head: bytes, most: int) -> None:
    """Raise `Invalid` if a head has more than `most` bytes (RFC 9112 3, RFC 6585 5) or too many lines."""
    if len(head) > most:
        is_line = b"\n" not in head[:most]
        raise Invalid(f"The request line and headers have more than {most} bytes.", 414 if is_line else 431)
    if head.count(b"\n") > MOST_LINES + 2:
        raise Invalid(f"The request has more than {MOST_LINES} header lines.", 431)


def without_offer(head: bytes) -> bytes:
    """Return a head that does not offer another protocol. A server may ignore the offer (RFC 9110 7.8)."""
    return _OFFER.sub(b"", head)
