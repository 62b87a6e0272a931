"""Addresses in what people write: which parts of a message can be followed."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

ADDRESS_CHARS: Final = 2000
"""A longer one stays text."""

_CANDIDATE: Final = re.compile(r"(?<![^\W_])https?://[^\s<>\"]+", re.IGNORECASE)
_HONEST: Final = re.compile(r"https?://[a-z0-9][a-z0-9._-]*(:[0-9]{1,5})?([/?#].*)?", re.IGNORECASE | re.ASCII)
"""People read the host as browsers do: there is no user before it, and no letter beyond ASCII in it, nor one that only
letter case makes one of ASCII."""

_AFTER: Final = frozenset(".,;:!?'*")
_CLOSING: Final = {")": "(", "]": "[", "}": "{"}


class Piece(NamedTuple):
    """A part of a message, as it was written."""

    text: str
    is_address: bool = False


def pieces(body: str) -> tuple[Piece, ...]:
    """Take a message apart into text and addresses of http and https; together they are the message."""
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
    while _is_of_the_sentence(text[-1], text):
        text = text[:-1]
    return text


def _is_of_the_sentence(last: str, text: str) -> bool:
    if last in _CLOSING:
        return text.count(last) > text.count(_CLOSING[last])
    return last in _AFTER or not (last.isascii() or last.isalnum())


def _is_honest(address: str) -> bool:
    """Tell whether it leads where it seems to: nothing invisible in it, and nothing that browsers read otherwise."""
    plain = len(address) <= ADDRESS_CHARS and address.isprintable() and "\\" not in address
    return plain and _HONEST.fullmatch(address) is not None
