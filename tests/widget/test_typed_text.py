"""Whatever a person types or pastes: the service accepts it, or the person sees that it was not sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.widget.driver import SETTINGS, Driver

from chatkey_protocol.frames import Kind
from chatkey_server.socket.connection import READER
from chatkey_widget import events
from chatkey_widget.typed_text import tidy

UNITS = st.integers(0, 0xFFFF) | st.integers(0xD800, 0xDFFF) | st.sampled_from([0, 0x20, 0x200B, 0xFEFF, 0x3164])
EVERY_FRAME = 64 * 1024


def page_text(units: list[int]) -> str:
    """Return the Python text that Pyodide makes of a JavaScript string with these UTF-16 code units."""
    return b"".join(unit.to_bytes(2, "little") for unit in units).decode("utf-16-le", "surrogatepass")


@given(st.lists(UNITS, max_size=40))
def test_any_text_is_sent_or_empty_and_the_next_one_is_sent(units: list[int]) -> None:
    """F217: the server must be able to read every frame, whatever was typed."""
    widget = Driver(SETTINGS).start()

    widget.feed(events.MessageWritten(page_text(units)), events.MessageWritten("next"))
    widget.feed(events.SearchAsked(page_text(units)))

    sent = widget.frames(Kind.MESSAGE)
    for frame in (*sent, *widget.frames(Kind.SEARCH)):
        READER.read(json.dumps(frame), max_bytes=EVERY_FRAME)
    bodies = [str(frame["body"]) for frame in sent]
    assert bodies == [*filter(None, [tidy(page_text(units))]), "next"]
    assert all(body.strip() and "\0" not in body for body in bodies)


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("cut \ud83d", "cut \ufffd"),
        ("\udc4b wave", "\ufffd wave"),
        ("a\0b", "a\ufffdb"),
        ("\U0001f44b\U0001f3fd", "\U0001f44b\U0001f3fd"),
        ("\u0645\u200c\u0645", "\u0645\u200c\u0645"),
        ("\ufffe", "\ufffe"),
        (" e\u0301 ", "e\u0301"),
    ],
)
def test_only_characters_that_cannot_be_sent_are_replaced(typed: str, sent: str) -> None:
    """F217: emoji, joiners and unknown characters must stay as they are."""
    assert tidy(typed) == sent


@pytest.mark.parametrize("typed", ["", " \n", "\u200b", "\u200b \u2060\ufeff", "\u2800", "\u3164", "\xad", "\x1f\x7f"])
def test_a_text_of_invisible_characters_is_empty(typed: str) -> None:
    """F217: the other side would see an empty message."""
    assert tidy(typed) == ""
