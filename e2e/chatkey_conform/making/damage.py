"""Ways to corrupt a compact JWS, used for tokens and for proofs (RFC 7515 2, 3.1, 7.1; RFC 7493).

The tables of tokens and of proofs share these rows. For tokens, a row's id names a row of `rows.toml`. For proofs, all
rows belong to PRF-003.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from chatkey_peer.key import b64, unb64

Parts = tuple[str, str, str]

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
HEADER, PAYLOAD = "header", "payload"


@dataclass(frozen=True)
class Jws:
    """A valid compact JWS, and the function with which it is signed."""

    text: str
    sign: Callable[[bytes], bytes]

    @property
    def parts(self) -> Parts:
        header, payload, signature = self.text.split(".")
        return header, payload, signature

    def json(self, part: str) -> bytes:
        return unb64(self.parts[(HEADER, PAYLOAD).index(part)])

    def with_json(self, part: str, raw: bytes) -> str:
        """Replace the header or payload with these bytes, and sign."""
        return self.with_segment(part, b64(raw))

    def with_segment(self, part: str, segment: str) -> str:
        """Replace the header or payload with this base64url text, and sign."""
        header, payload, _ = self.parts
        return self.signed(f"{segment}.{payload}" if part == HEADER else f"{header}.{segment}")

    def signed(self, text: str) -> str:
        """Sign a text that was assembled by hand."""
        return f"{text}.{b64(self.sign(text.encode()))}"


@dataclass(frozen=True)
class Damage:
    """One row of both tables.

    `part` is the segment that the refusal of a proof names. `cause` applies to tokens only.
    """

    row: str
    name: str
    make: Callable[[Jws], str]
    part: str | None = None
    is_json: bool = False
    """Whether the segment is valid base64url but contains wrong JSON."""
    cause: str | None = None
    says: str = ""

    @property
    def token_id(self) -> str:
        """The row's id in the table of tokens."""
        return f"{self.row}-{self.name}"

    @property
    def proof_id(self) -> str:
        """The row's id in the table of proofs."""
        return f"PRF-003-{self.name}"

    @property
    def token_member(self) -> str | None:
        """The `member` in the refusal of a token: `payload` for wrong JSON in the payload, otherwise None."""
        return PAYLOAD if self.is_json and self.part == PAYLOAD else None


# the text


def _texts() -> Iterator[Damage]:
    space, compact = "white space", "five segments: it is encrypted"
    tables: tuple[tuple[str, str, Callable[[str], str], str | None], ...] = (
        ("JWT-002", "one-dot", lambda _: ".", None),
        ("JWT-002", "two-dots", lambda _: "..", None),
        ("JWT-002", "three-dots", lambda _: "...", None),
        ("JWT-002", "two-segments", lambda text: text.rpartition(".")[0], None),
        ("JWT-002", "one-segment", lambda text: text.partition(".")[0], None),
        ("JWT-004", "dot-behind", lambda text: text + ".", None),
        ("JWT-004", "dot-before", lambda text: "." + text, None),
        ("JWT-005", "four-segments", lambda text: text + ".x", None),
        ("JWT-005", "five-segments", lambda text: text + ".x.x", compact),
        ("JWT-005", "twice", lambda text: text + text, compact),
        # F111: white space and padding are refused everywhere, and the refusal names the mistake.
        ("JWT-007", "leading-space", lambda text: " " + text, space),
        ("JWT-007", "trailing-space", lambda text: text + " ", space),
        ("JWT-007", "tab", lambda text: text + "\t", space),
        ("JWT-007", "lf", lambda text: text + "\n", space),
        ("JWT-007", "crlf", lambda text: text + "\r\n", space),
        ("JWT-009", "bearer", lambda text: "Bearer " + text, "the word Bearer"),
        ("JWT-010", "padded", lambda text: text + "=", "padding"),
        ("JWT-011", "padded-more", lambda text: text + "====", "padding"),
        ("JWT-013", "encoded-dot-behind", lambda text: text + "%2Ex", "percent-encoded"),
        ("JWT-013", "plus", lambda text: text + "+", "base64url, with - and _ instead of + and /"),
        ("JWT-013", "quotes", lambda text: f'"{text}"', "quotes"),
        ("JWT-016", "encoded-dots", lambda text: text.replace(".", "%2E"), "percent-encoded"),
        ("JWT-017", "in-an-object", lambda text: f'{{"payload":"{text}"}}', "JSON serialization"),
        ("JWT-020", "cyrillic-first", lambda text: "\u0435" + text[1:], None),
        ("JWT-020", "byte-order-mark", lambda text: "\ufeff" + text, None),
        ("JWT-020", "nul-behind", lambda text: text + "\0", None),
        ("JWT-020", "ideographic-dots", lambda text: text.replace(".", "\u3002"), None),
        ("JWT-020", "full-width-dots", lambda text: text.replace(".", "\uff0e"), None),
        ("JWT-020", "emoji", lambda text: text + "\N{FOX FACE}", None),
    )
    for row, name, damage, cause in tables:
        yield Damage(row, name, whole(damage), cause=cause)


def _segments() -> Iterator[Damage]:
    yield Damage("JWT-002", "empty-header", lambda jws: jws.with_segment(HEADER, ""))
    yield Damage("JWT-002", "empty-payload", lambda jws: jws.with_segment(PAYLOAD, ""))
    yield Damage("JWT-017", "flattened", lambda jws: flattened(*jws.parts), cause="JSON serialization")
    yield Damage("JWT-018", "general", lambda jws: general(*jws.parts), cause="JSON serialization")
    yield Damage("JWT-019", "polyglot", lambda jws: polyglot(*jws.parts), cause="JSON serialization")
    for (row, name, what, cause), at in product(INSERTED, range(3)):
        yield Damage(row, f"{name}-{at}", inserted(what, at), cause=cause)
    for part in (HEADER, PAYLOAD):
        for name, spell in (("idle-bits", idle_bits), ("letter-more", letter_more)):
            yield Damage("JWT-015", f"{part}-{name}", spell(part), part)
    yield Damage("JWT-015", "signature-idle-bits", lambda jws: next_letter(jws.text))
    yield Damage("JWT-015", "idle-bits-canonically-signed", canonically_signed, PAYLOAD, says="not canonical base64url")


INSERTED: Final = (
    ("JWT-008", "space", " ", None),
    ("JWT-008", "newline", "\n", None),
    ("JWT-010", "padding", "=", "padding"),
    ("JWT-013", "question", "?", None),
    ("JWT-013", "bang", "!", None),
    ("JWT-013", "hash", "#", None),
    ("JWT-013", "tilde", "~", None),
    ("JWT-013", "slash", "/", "base64url, with - and _ instead of + and /"),
    ("JWT-013", "encoded-dot", "%2E", "percent-encoded"),
    ("JWT-020", "latin", "é", None),
    ("JWT-020", "arabic-digit", "\u0661", None),
    ("JWT-020", "nul", "\0", None),
)


def whole(damage: Callable[[str], str]) -> Callable[[Jws], str]:
    """Apply a change to the whole text of a JWS."""
    return lambda jws: damage(jws.text)


def inserted(what: str, segment: int) -> Callable[[Jws], str]:
    """Insert a text into the middle of one segment."""

    def make(jws: Jws) -> str:
        parts = [*jws.parts]
        half = len(parts[segment]) // 2
        parts[segment] = parts[segment][:half] + what + parts[segment][half:]
        return ".".join(parts)

    return make


def next_letter(text: str) -> str:
    """In the last character, change a bit that base64url ignores. The decoded bytes stay the same."""
    return text[:-1] + LETTERS[LETTERS.index(text[-1]) + 1]


def spaced(jws: Jws, part: str, rest: int) -> str:
    """Append spaces to the JSON until its length modulo 3 is `rest`, and return the segment."""
    raw = jws.json(part)
    return b64(raw + b" " * ((rest - len(raw)) % 3))


def idle_bits(part: str) -> Callable[[Jws], str]:
    """In a segment's last character, set a bit that base64url ignores, and sign the result."""
    return lambda jws: jws.with_segment(part, next_letter(spaced(jws, part, 1)))


def canonically_signed(jws: Jws) -> str:
    """Set an ignored bit in the payload's last character, and keep the signature of the canonical text."""
    segment = spaced(jws, PAYLOAD, 1)
    header, _, signature = jws.with_segment(PAYLOAD, segment).split(".")
    return f"{header}.{next_letter(segment)}.{signature}"


def letter_more(part: str) -> Callable[[Jws], str]:
    """Add one character to a segment. A single further character cannot encode a whole byte."""
    return lambda jws: jws.with_segment(part, spaced(jws, part, 0) + "A")


def flattened(protected: str, body: str, signature: str) -> str:
    """Return the JWS in the flattened JSON serialization."""
    return json.dumps({"protected": protected, "payload": body, "signature": signature})


def general(protected: str, body: str, signature: str) -> str:
    """Return the JWS in the general JSON serialization, with a wrong signature before the valid one."""
    broken, whole = ({"protected": protected, "signature": value} for value in (signature[::-1], signature))
    return json.dumps({"payload": body, "signatures": [broken, whole]})


def polyglot(protected: str, body: str, signature: str) -> str:
    """Return text that one parser reads as a JSON object, and another parser as three segments with dots."""
    return f'{{"payload":"{body}","protected":"{protected}","signature":"{signature}","x":".{body}."}}'


# the JSON


def _json() -> Iterator[Damage]:
    for part, at in ((HEADER, 0), (PAYLOAD, 1)):
        for rows, name, spoil, says in (*_no_object(), *_no_json(), *_ambiguous()):
            make = _spoiled(part, spoil)
            yield Damage(rows[at], f"{part}-{name}", make, part, is_json=True, says=says if part == HEADER else "")


Spoilt = tuple[tuple[str, str], str, Callable[[bytes], bytes], str]


def _spoiled(part: str, spoil: Callable[[bytes], bytes]) -> Callable[[Jws], str]:
    return lambda jws: jws.with_json(part, spoil(jws.json(part)))


def _no_object() -> Iterator[Spoilt]:
    for name, raw in (("array", b"[]"), ("string", b'"HS256"'), ("number", b"256"), ("null", b"null")):
        yield ("JWT-045", "JWT-085"), name, nothing_but(raw), "not a JSON object"
    yield ("JWT-045", "JWT-085"), "in-an-array", lambda whole: b"[" + whole + b"]", "not a JSON object"
    yield ("JWT-045", "JWT-085"), "as-a-string", lambda whole: json.dumps(whole.decode()).encode(), "not a JSON object"


def _no_json() -> Iterator[Spoilt]:
    tables: dict[tuple[str, str], dict[str, Callable[[bytes], bytes]]] = {
        ("JWT-045", "JWT-085"): {
            "cut-off": lambda whole: whole[:-1],
            "open": lambda _: b"{" * 9,
            "single-quotes": lambda whole: whole.replace(b'"', b"'"),
            "comma": lambda whole: whole[:-1] + b",}",
            "comment": lambda whole: whole[:-1] + b"/**/}",
            "control": added(b'"\n"'),
        },
        ("JWT-045", "JWT-086"): {
            "brace-behind": lambda whole: whole + b"}",
            "letter-behind": lambda whole: whole + b"x",
            "nul-behind-it": lambda whole: whole + b"\0",
            "two": lambda whole: whole + whole,
        },
        ("JWT-045", "JWT-088"): {"bom": lambda whole: b"\xef\xbb\xbf" + whole},
        ("JWT-045", "JWT-089"): {
            "utf-16": lambda whole: whole.decode().encode("utf-16"),
            "utf-16-le": lambda whole: whole.decode().encode("utf-16-le"),
            "utf-32": lambda whole: whole.decode().encode("utf-32"),
        },
        ("JWT-045", "JWT-090"): {
            "latin-1": added(b'"\xe9"'),
            "overlong": added(b'"\xc0\xaf"'),
            "surrogate": added(b'"\xed\xa0\x80"'),
        },
        ("JWT-045", "JWT-096"): {
            "nan": added(b"NaN"),
            "infinity": added(b"Infinity"),
            "minus-infinity": added(b"-Infinity"),
        },
        ("JWT-045", "JWT-097"): {
            "leading-zero": added(b"01"),
            "signed-number": added(b"+1"),
            "hex": added(b"0x1"),
        },
        ("JWT-059", "JWT-098"): {
            "1000-levels": added(b"[" * 1000 + b"]" * 1000),
            "34-levels": added(b"[" * 33 + b"]" * 33),
            "open-levels": lambda _: b"[" * 2000,
            "open-objects": lambda _: b'{"a":' * 400,
        },
    }
    for rows, spoils in tables.items():
        for name, spoil in spoils.items():
            yield rows, name, spoil, "JSON"
    yield ("JWT-045", "JWT-097"), "beyond-a-double", added(b"1e400"), "outside the range of a double"


def _ambiguous() -> Iterator[Spoilt]:
    # F111: if a name occurs twice, two parsers may read different values.
    for name, spoil in (
        ("twice", lambda whole: whole[:-1] + b"," + first_member(whole) + b"}"),
        ("twice-other", lambda whole: whole[:-1] + b"," + last_name(whole) + b":null}"),
        ("twice-escaped", lambda whole: whole[:-1] + b"," + escaped(last_name(whole)) + b":null}"),
        ("twice-inside", added(b'[{"a":1,"a":2}]')),
    ):
        yield ("JWT-044", "JWT-094"), name, spoil, "occurs twice"


def nothing_but(raw: bytes) -> Callable[[bytes], bytes]:
    """Replace the JSON object with these bytes."""
    return lambda _: raw


def added(value: bytes) -> Callable[[bytes], bytes]:
    """Add an unknown member with this raw value."""
    return lambda whole: whole[:-1] + b',"x":' + value + b"}"


def last_name(whole: bytes) -> bytes:
    """Return the name of an object's last member as a JSON string."""
    return json.dumps([*json.loads(whole)][-1]).encode()


def first_member(whole: bytes) -> bytes:
    """Return an object's first member as JSON."""
    name, value = next(iter(json.loads(whole).items()))
    return json.dumps({name: value})[1:-1].encode()


def escaped(name: bytes) -> bytes:
    """Return the quoted name with its first letter written as a Unicode escape."""
    return b'"\\u%04x%b' % (name[1], name[2:])


DAMAGE: Final = (*_texts(), *_segments(), *_json())
