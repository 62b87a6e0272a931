"""Forges sessions: with another person's details, or with everything in them that cannot be guessed made up."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote

from chatkey_check import reading
from chatkey_check.calls.sessions import random_like
from chatkey_check.judging.codings import DEPTH, readings
from chatkey_check.judging.victims import Victim

DIGITS: Final = re.compile(r"\d+")
SHORTEST: Final = 2
"""A shorter id could occur in a text by chance."""
RUN: Final = re.compile(r"[0-9A-Fa-f]{32,}|[A-Za-z0-9+/_](?:[A-Za-z0-9+/_]|-(?!-))*={0,2}")
"""A part of a session without separators: an id, a word, a signature, or encoded text."""
DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT?\d*")
WORD: Final = 16
"""Letters alone, or digits alone, that are shorter than this can be guessed: they are words, ids and times."""
MIXED: Final = 6
"""Letters and digits together that are shorter than this can be guessed."""
SIGNED: Final = re.compile(r"(.{4,}?)(--|[.:|~!])([A-Za-z0-9+/_=%-]{8,})", re.DOTALL)
HEX: Final = "0123456789abcdef"
HASHES: Final = ("md5", "sha1", "sha256", "sha512")


def forged(value: str, mine: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    """Return forms of a session in which the details of one person are replaced by those of another person.

    If the session seems to end with a signature, there are also forms without it, and with a hash instead.
    """
    made: list[str] = []
    for one in readings(value):
        for own, other in _pairs(mine, theirs):
            if own in one.text:
                made.append(one.write(one.text.replace(own, other)))
                break
    return list(dict.fromkeys([*made, *(other for one in made for other in _signed_otherwise(value, one))]))


def _signed_otherwise(value: str, changed: str) -> Iterator[str]:
    """Yield a changed session without its signature, and with a hash of the content if the signature was one."""
    was, now = (SIGNED.fullmatch(unquote(text)) for text in (value, changed))
    if was is None or now is None or was[1] == now[1]:
        return
    packed = quote if "%" in value else str
    yield packed(now[1])
    yield packed(f"{now[1]}{now[2]}")
    for name in HASHES:
        if hashlib.new(name, was[1].encode(), usedforsecurity=False).hexdigest() == was[3].lower():
            yield packed(f"{now[1]}{now[2]}{hashlib.new(name, now[1].encode(), usedforsecurity=False).hexdigest()}")


def guessed(value: str, known: Iterable[object]) -> str:
    """Return a session in which everything is made up that only the site can know.

    What can be guessed stays: the person's own details, words, numbers, and the structure around them. If such a
    session works, nothing in it is verified. Returns an empty text for a session without any such content.
    """
    details = [detail for one in known if len(detail := str(one)) >= SHORTEST]
    texts = [one.text for one in readings(value)]
    if not any(detail in text for text in texts for detail in details) and not any(map(_structured, texts[1:])):
        return ""
    guess = _guess(value, details, DEPTH)
    return guess if guess != value or len(texts) > 1 else ""


def _structured(text: str) -> bool:
    return text.startswith(("{", "[", "a:", "O:")) or re.match(r"[\w.]+[=|]", text) is not None


def _guess(text: str, details: list[str], depth: int) -> str:
    if "%" in text and unquote(text) != text:
        return quote(_guess(unquote(text), details, depth), safe="")
    return RUN.sub(lambda found: _guess_part(found[0], details, depth), text)


def _guess_part(part: str, details: list[str], depth: int) -> str:
    layers = [one for one in readings(part, 1) if one.text != part and len(part) >= MIXED] if depth else []
    if layers:
        return layers[0].write(_guess(layers[0].text, details, depth - 1))
    return part if any(part in detail for detail in details) or _guessable(part, details) else _made_up(part)


def _made_up(part: str) -> str:
    """Return a random part. Hex stays hex, so that the site compares it instead of refusing its form."""
    return "".join(map(secrets.choice, [HEX] * len(part))) if set(part) <= set(HEX) else random_like(part)


def _guessable(part: str, details: list[str]) -> bool:
    if DATE.match(part):
        return True
    pieces = re.split(r"[-_/+=]", part)
    return all(
        len(piece) < (MIXED if not (piece.isalpha() or piece.isdigit()) else WORD) or piece in details
        for piece in pieces
    )


def unsigned(person: Victim) -> Iterator[str]:
    """Yield JWTs of a person that are not signed, and signed with nothing that the site knows."""
    claims = {**dict.fromkeys(("sub", "id", "uid", "user_id", "userId"), person.uid), "email": person.email}
    payload = reading.encoded(json.dumps({**claims, "exp": 4_102_444_800}).encode())
    for alg, signature in (("none", ""), ("HS256", random_like("x" * 43))):
        yield f"{reading.encoded(json.dumps({'alg': alg, 'typ': 'JWT'}).encode())}.{payload}.{signature}"


def _pairs(mine: Mapping[str, object], theirs: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield pairs of corresponding details of both persons: each claim, and the number in the uid."""
    for name in ("uid", "email", "name"):
        own, other = mine.get(name), theirs.get(name)
        if isinstance(own, str) and isinstance(other, str) and len(own) >= SHORTEST:
            yield own, other
    numbers = [DIGITS.search(str(claims.get("uid"))) for claims in (mine, theirs)]
    if numbers[0] and numbers[1] and len(numbers[0][0]) >= SHORTEST:
        yield numbers[0][0], numbers[1][0]
