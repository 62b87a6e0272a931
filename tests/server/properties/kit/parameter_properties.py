"""Properties of queries and forms that a browser, a social provider or an attacker might send."""

from __future__ import annotations

import re
from typing import Final

from hypothesis import strategies as st
from tests.server.properties.kit.properties import ACCEPTED, Property
from tests.server.properties.kit.shaken import ODD_CHARACTERS

from chatkey_server.identity.errors import Refused
from chatkey_server.public.parameters import read_pairs

NAMES: Final = ("state", "code", "origin")
MOST_BYTES: Final = 16 * 1024
MOST_PAIRS: Final = 32
_ESCAPED: Final = re.compile(rb"%([0-9A-Fa-f]{2})")

_names = st.sampled_from((*NAMES, "st%61te", "State", "%73tate", "code%00", "state+", "x", "", "%"))
_values = st.text(ODD_CHARACTERS + "ab%;:", max_size=10) | st.sampled_from(
    ("%C3%A9", "%ff", "%u0041", "a%2", "+%20", "%00", "%26state%3Dx")
)
_pairs = st.builds(
    lambda name, equals, value: name + equals + value, _names, st.sampled_from(("=", "=", "==", "")), _values
)
queries = st.one_of(
    st.lists(_pairs, max_size=5).map("&".join).map(lambda text: text.encode()),
    st.lists(st.sampled_from(("state=a", "x=1", "&", ";", "")), min_size=25, max_size=40).map(
        lambda pairs: "&".join(pairs).encode()
    ),
    st.builds(
        lambda name, size: name + b"=" + b"a" * size, st.sampled_from((b"x", b"state")), st.integers(16_370, 16_390)
    ),
    st.binary(max_size=40),
)


def check_query(query: bytes) -> str:
    """Compare how the server and the reference read a query. They must return each named parameter once, or refuse."""
    expected = _read(query)
    try:
        found = read_pairs(query, *NAMES, most=MOST_BYTES)
    except Refused as refused:
        assert refused.code == expected
        return str(refused.code)
    assert found == expected
    return ACCEPTED


def _read(query: bytes) -> dict[str, str] | str:
    """Read `application/x-www-form-urlencoded` (URL standard, 5.1). If the query is refused, return the code."""
    if len(query) > MOST_BYTES or query.count(b"&") >= MOST_PAIRS:
        return "parameter_invalid"
    found: dict[str, str] = {}
    for pair in filter(None, query.decode(errors="replace").encode().split(b"&")):
        name, _, value = pair.partition(b"=")
        if (known := _decoded(name)) in NAMES:
            if known in found:
                return "parameter_repeated"
            found[known] = _decoded(value)
    return found


def _decoded(text: bytes) -> str:
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), text.replace(b"+", b" "))
    return raw.decode("utf-8", "replace")


PROPERTIES: Final = (Property("queries and forms", queries, check_query),)
