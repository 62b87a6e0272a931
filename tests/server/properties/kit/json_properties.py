"""JSON and base64url in every spelling, compared with a reference that knows only the grammar."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st
from tests.server.properties.kit import strict_json
from tests.server.properties.kit.properties import ACCEPTED, REFUSED, Property
from tests.server.properties.kit.shaken import AROUND, json_texts, json_values, shaken_object
from tests.server.properties.kit.strict_json import ALPHABET, NotStrict

from chatkey_server.identity import encoding


def check_json(raw: bytes) -> str:
    """Compare how the server and the reference read bytes. The values must be equal, including their types."""
    expected: Any
    try:
        expected = strict_json.read_json(raw)
    except NotStrict:
        expected = NotStrict
    try:
        value = encoding.json_value(raw)
    except encoding.Malformed:
        assert expected is NotStrict
        return REFUSED
    assert repr(value) == repr(expected)
    return ACCEPTED


def check_base64url(text: str) -> str:
    """Compare how the server and the reference decode a text. Decoded bytes have only this one spelling."""
    try:
        expected = strict_json.read_base64url(text)
    except NotStrict:
        expected = None
    try:
        raw = encoding.decode(text)
    except encoding.Malformed:
        assert expected is None
        return REFUSED
    assert raw == expected
    assert encoding.encode(raw) == text
    return ACCEPTED


_json_bytes = st.one_of(
    shaken_object({"a": 1, "b": {"c": [True, None]}}, {"a": ("\u00e9", -1.5e-9, 2**64)}),
    st.builds(lambda text, around: around[0] + text.encode() + around[1], json_texts, st.sampled_from(AROUND)),
    st.builds(
        lambda depth, inside: b"[" * depth + inside + b"]" * depth,
        st.integers(29, 35),
        st.sampled_from((b"1", b'"[["', b'{"a":1}', b"[1],[2]")),
    ),
    st.text('{}[]",:\\ u0019eE+-.tfn\n', max_size=12).map(str.encode),
    st.binary(max_size=30),
    json_values.map(lambda value: repr(value).encode("utf-8", "replace")),
)
_alphabets = st.text(ALPHABET, max_size=90) | st.text(ALPHABET + "=+/ \n\u00e9\uff21", max_size=12)

PROPERTIES: Final = (
    Property("JSON", _json_bytes, check_json),
    Property("base64url", _alphabets, check_base64url),
)
