"""Generates faulty variants of valid input: odd JSON members, and texts with lost, added or swapped characters."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

Draw = st.DrawFn

ODD_JSON: Final = (
    *("null", "true", "false", "0", "-0", "-1", "1", "1.0", "1e3", "1.8e9", "1800000030.0", "1800000030000", "-0.0"),
    *("9999999999", "10000000000", "9" * 30, '"1800000030"', '""', '"x"', r'"\u0000"', r'"\ud83d\ude00"', r'"\"\\\/"'),
    *("[]", "{}", "[[[[[[[[]]]]]]]]", '["x"]', '{"": ""}', '{"x": {"x": null}}'),
    *(json.dumps("x" * 256), json.dumps("x" * 255), json.dumps("\N{GRINNING FACE}" * 255), json.dumps("y" * 2049)),
)
NO_JSON: Final = (
    *("1e400", "NaN", "-Infinity", "01", "+1", "1.", ".5", "0x1", "1" * 5000, "[1,]", "{,}", "undefined", "True", ""),
    *(
        r'"\ud800"',
        r'"\udc00\ud800"',
        r'"\q"',
        r'"\u00g0"',
        '"\n"',
        "'x'",
        '{"a":1,"a":1}',
        '[{"b":{"a":1,"\\u0061":2}}]',
    ),
    *("[" * 3000, '{"a":' * 3000),
)
"""Text that only looks like JSON, or that two parsers would read differently."""
AROUND: Final = (
    *([(b"", b"")] * 30),
    *(
        (b" ", b"\r\n"),
        (b"\xef\xbb\xbf", b""),
        (b"", b"\x00"),
        (b"x", b""),
        (b"", b"\xff"),
        (b"", b","),
        (b"[", b"]"),
        (b"", b"{}"),
    ),
)
ODD_CHARACTERS: Final = "=.+/ \n\0A_-\u00e9\uff21\u200b%&?#\\\"'"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
json_texts = st.sampled_from((*ODD_JSON, *ODD_JSON, *NO_JSON)) | json_values.map(json.dumps)


@st.composite
def shaken_object(
    draw: Draw,
    honest: Mapping[str, Any],
    likely: Mapping[str, Sequence[Any]],
) -> bytes:
    """Generate a slightly wrong JSON object: a member is missing, repeated, or has a new value, often from `likely`."""
    members = [(json.dumps(name), json.dumps(value)) for name, value in honest.items()]
    names = sorted({*honest, *likely, "unknown"})
    for _ in range(draw(st.sampled_from((1, 1, 1, 1, 2)))):
        name = draw(st.sampled_from(names))
        written = json.dumps(name)
        change = draw(st.sampled_from(("set", "set", "set", "set", "drop", "twice", "escaped")))
        value = next((text for spelled, text in members if spelled == written), "null")
        if change in {"set", "twice"}:
            value = draw(_value(likely.get(name, ())))
        if change != "twice":
            members = [member for member in members if member[0] != written]
        if change == "escaped" or (change == "twice" and draw(st.booleans())):
            written = f'"\\u{ord(name[0]):04x}{name[1:]}"'
        if change != "drop":
            members.append((written, value))
    turn = draw(st.integers(0, len(members)))
    members = members[turn:] + members[:turn]
    comma, colon = draw(st.sampled_from(((",", ":"), (", ", ": "), (",\n\t", " :\r\n"))))
    before, after = draw(st.sampled_from(AROUND))
    text = "{" + comma.join(name + colon + value for name, value in members) + "}"
    return before + text.encode("utf-8", "surrogatepass") + after


def _value(likely: Sequence[Any]) -> st.SearchStrategy[str]:
    return st.sampled_from([*map(json.dumps, likely)] * 2 + [*ODD_JSON]) if likely else json_texts


@st.composite
def shaken_text(draw: Draw, text: str) -> str:
    """Generate a text that is unchanged or has one typical copying mistake."""
    change = draw(st.sampled_from(("nothing", "lose", "add", "swap", "end", "cut", "again", "case", "around")))
    at = draw(st.integers(0, max(0, len(text) - 1)))
    odd = draw(st.sampled_from(ODD_CHARACTERS))
    match change:
        case "lose":
            return text[:at] + text[at + 1 :]
        case "add":
            return text[:at] + odd + text[at:]
        case "swap":
            return text[:at] + odd + text[at + 1 :]
        case "end":
            return text[:-1] + draw(st.sampled_from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
        case "cut":
            return text[:at]
        case "again":
            return text + text[at:]
        case "case":
            return text.swapcase()
        case "around":
            return odd + text + draw(st.sampled_from(("", odd)))
    return text


def sometimes_shaken(text: str) -> st.SearchStrategy[str]:
    """Return a strategy for a text that is unchanged or has one copying mistake."""
    return st.just(text) | shaken_text(text)


def b64(raw: bytes) -> str:
    """Encode bytes as base64url without padding."""
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def compact(value: Mapping[str, Any]) -> bytes:
    """Encode a value as JSON without white space, as most libraries do."""
    return json.dumps(value, separators=(",", ":")).encode()


@st.composite
def moments(draw: Draw) -> float:
    """Generate a time, which is often close to the full minute."""
    minute = draw(st.integers(28_000_000, 32_000_000))
    return minute * 60 + draw(st.sampled_from((0, 0.25, 1, 29, 30.5, 59, 59.999)))
