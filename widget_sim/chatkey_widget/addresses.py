"""Finds the web addresses in messages that can safely be shown as links."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

ADDRESS_CHARS: Final = 2000
"""The longest address that becomes a link, in characters."""

LAST_PORT: Final = 65_535

_CANDIDATE: Final = re.compile(r"(?<![^\W_])https?://[^\s<>\"]+", re.IGNORECASE)
_HONEST: Final = re.compile(
    r"https?://(?P<host>[a-z0-9][a-z0-9._-]*)(:(?P<port>[1-9][0-9]{0,4}))?([/?#].*)?", re.IGNORECASE | re.ASCII
)
"""The host is ASCII and no user name precedes it. People and browsers therefore see the same host."""

_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE | re.ASCII)
_BYTES: Final = frozenset(map(str, range(256)))

_AFTER: Final = frozenset(".,;:!?'*")
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}


class Piece(NamedTuple):
    """A part of a message, exactly as written."""

    text: str
    is_address: bool = False


def pieces(body: str) -> tuple[Piece, ...]:
    """Split a message into text and http(s) addresses. The pieces add up to the message."""
    return tuple(piece for piece in _pieces(body) if piece.text)


def _pieces(body: str) -> Iterator[Piece]:
    end = 0
    for match in _CANDIDATE.finditer(body):
        address = _without_end_of_sentence(match[0])
        if _is_honest(address):
            yield Piece(body[end : match.start()])
            yield Piece(address, is_address=True)
            end = match.start() + len(address)
    yield Piece(body[end:])


def _without_end_of_sentence(text: str) -> str:
    left = Counter(text)
    end = len(text)
    while _is_of_the_sentence(text[end - 1], left):
        end -= 1
        left[text[end]] -= 1
    return text[:end]


def _is_of_the_sentence(last: str, left: Counter[str]) -> bool:
    if last in _CLOSING:
        return left[last] > left[_CLOSING[last]]
    return last in _AFTER or not (last.isascii() or last.isalnum())


def _is_honest(address: str) -> bool:
    """Return whether a link leads to the host that people see.

    The address must have no invisible characters, and must be an address that browsers leave unchanged.
    """
    if len(address) > ADDRESS_CHARS or not address.isprintable() or "\\" in address:
        return False
    read = _HONEST.fullmatch(address)
    return read is not None and _is_read_as_written(read["host"]) and int(read["port"] or 0) <= LAST_PORT


def _is_read_as_written(host: str) -> bool:
    """Return whether browsers read the host as a name, or as exactly the IPv4 address in the text.

    If the last label of a host is a number, browsers read the host as an IPv4 address, also in octal, hexadecimal and
    short forms (https://url.spec.whatwg.org/#ends-in-a-number-checker).
    """
    last = host.removesuffix(".").rpartition(".")[2]
    return _NUMBER.fullmatch(last) is None or _is_ipv4(host)


def _is_ipv4(host: str) -> bool:
    """Return whether the host is an IPv4 address in the usual form: four decimal numbers without leading zeros."""
    labels = host.split(".")
    return len(labels) == 4 and _BYTES.issuperset(labels)
