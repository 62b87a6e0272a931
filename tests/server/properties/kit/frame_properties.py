"""Properties of texts that a widget, or any other client with an open socket, might send as frames."""

from __future__ import annotations

import json
from typing import Any, Final

from hypothesis import strategies as st
from tests.server.properties.kit.properties import Property, agree
from tests.server.properties.kit.shaken import b64, json_texts, shaken_object, shaken_text

from chatkey_server.socket.connection import READER

MOST_BYTES: Final = 4096
HONEST: Final[tuple[dict[str, Any], ...]] = (
    {"type": "connect", "token": "e30.e30.AA", "proof": "e30.e30.AA"},
    {"type": "refresh", "token": "e30.e30.AA"},
    {"type": "message", "id": "m-1", "body": "Hello", "headers": {"name": "Ada"}},
    {"type": "message", "id": "m-1", "body": ""},
    {"type": "history", "id": "h-1", "before": 7, "limit": 10},
    {"type": "search", "id": "s-1", "query": "hello"},
    {"type": "call", "id": "c-1", "action": "start"},
    {"type": "call", "id": "c-1", "action": "end", "headers": {}},
    {"type": "ping"},
)
LIKELY: Final[dict[str, Any]] = {
    "type": ("connect", "refresh", "message", "history", "search", "call", "ping", "hello", "Ping", ""),
    "id": ("", "a" * 64, "a" * 65, "a b", "a\n", "\u00e9", "-_"),
    "before": (0, 1, 2**31 - 1, 2**31, -1, None),
    "limit": (0, 1, 50, 51, None),
    "action": ("start", "end", "Start", "hold"),
    "headers": ({"name": None}, {"name": 5}, {"name": "x", "more": []}, None, []),
    "token": ("", "x" * 5000),
    "body": ("x" * 3000, "\u00e9" * 2100),
}

frames = st.sampled_from(HONEST).flatmap(
    lambda frame: shaken_object(frame, {n: LIKELY[n] for n in frame if n in LIKELY})
)
frame_texts = st.one_of(
    st.sampled_from(HONEST[2:]).map(json.dumps),
    frames.map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    json_texts,
    st.text(max_size=60),
    st.sampled_from(HONEST).map(lambda frame: b64(repr(frame).encode())).flatmap(shaken_text),
)


def check_frame(text: str) -> str:
    """Compare how the server and the service in Node read a text."""
    return agree(lambda: _read(text), "frame", text=text, most=MOST_BYTES)


def _read(text: str) -> None:
    READER.read(text, max_bytes=MOST_BYTES)


PROPERTIES: Final = (Property("frames", frame_texts, check_frame),)
