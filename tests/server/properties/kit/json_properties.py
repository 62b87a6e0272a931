"""Properties of the parsers for JSON and base64url. The service in Node parses the same texts independently."""

from __future__ import annotations

import json
import string
from typing import Final

from hypothesis import strategies as st
from tests.server.properties.kit.properties import ACCEPTED, REFUSED, Property
from tests.server.properties.kit.second_service import ask
from tests.server.properties.kit.shaken import AROUND, json_texts, json_values, shaken_object

from chatkey_server.identity import encoding

ALPHABET: Final = string.ascii_letters + string.digits + "-_"


def check_json(raw: bytes) -> str:
    """Compare how the server and the service in Node read bytes. The values must be equal, including their types."""
    try:
        value = encoding.json_value(raw)
        read = [_comparable(value)] if _is_unicode(value) else None
    except encoding.Malformed:
        read = None
    assert _written(ask("json", raw=raw.hex())["answer"]) == _written(read)
    return ACCEPTED if read else REFUSED


def check_base64url(text: str) -> str:
    """Compare how the server and the service in Node decode a text.

    The server must refuse a text that is not the usual encoding of the decoded bytes.
    """
    try:
        raw = encoding.decode(text)
    except encoding.Malformed:
        assert ask("base64url", text=text) == {"answer": None}
        return REFUSED
    assert ask("base64url", text=text) == {"answer": raw.hex()}
    assert encoding.encode(raw) == text
    return ACCEPTED


def _comparable(value: object) -> object:
    """Replace each number that Python and JavaScript print differently with a word, as `verdicts.mjs` does."""
    match value:
        case float():
            return "a fraction"
        case int() if abs(value) >= 2**53:
            return "a large number"
        case list():
            return [_comparable(item) for item in value]
        case dict():
            return {name: _comparable(member) for name, member in value.items()}
    return value


def _is_unicode(value: object) -> bool:
    """Return whether no string in a value contains a lone surrogate.

    Node's parser refuses lone surrogates. The server refuses them in a later step.
    """
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _written(value: object) -> str:
    return json.dumps(value, sort_keys=True)


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
