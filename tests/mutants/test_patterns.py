"""Tests of patterns on the syntax tree.

A pattern must match equivalent code, and must distinguish occurrences in different places.
"""

from __future__ import annotations

from textwrap import dedent

import pytest
from tools.patterns import PatternError, Source

TEXT = dedent("""
    LIMIT: Final = 3

    class Door:
        def open(self, key: str) -> None:
            self._check(
                key,
                most=LIMIT,
            )
            self._log()
            match key:
                case "a" | "b" if self._hinge:
                    self._log()

        def _check(self, key: str, most: int) -> None:
            answer = {"ä": key, "most": most}
            if len(key) > most:
                raise ValueError
            elif key:
                self._log()
""")
SOURCE = Source("door.py", TEXT)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("self.$CHECK(key, most=LIMIT)", 1),
        ("self.$CHECK($$$)", 4),
        ("$A($A)", 0),
        ("LIMIT: Final = 3", 1),
        ("most=LIMIT", 1),
        ('"most": most', 1),
        ('"ä": key', 1),
        ("most: int", 1),
        ('"a" | "b"', 1),
        ("self.$HINGE", 5),
        ("if len($X) > most: $$$", 1),
        ("len($X) > most", 1),
        ("self._other()", 0),
    ],
)
def test_a_pattern_finds_every_matching_place(pattern: str, found: int) -> None:
    assert len(SOURCE.places(pattern)) == found


@pytest.mark.parametrize(
    ("of", "found"),
    [
        ({}, 3),
        ({"within": "Door"}, 3),
        ({"within": "Door.open"}, 2),
        ({"within": "Do"}, 0),
        ({"inside": '"a" | "b"'}, 1),
        ({"inside": "key: str"}, 3),
        ({"inside": "most: int"}, 1),
        ({"after": "self.$CHECK(key, most=LIMIT)"}, 1),
        ({"after": "self.$LOG()"}, 0),
        ({"within": "Door.open", "inside": "self.$HINGE"}, 1),
    ],
)
def test_in_inside_and_after_choose_among_places(of: dict[str, str], found: int) -> None:
    assert len(SOURCE.places("self.$LOG()", **of)) == found


def test_a_place_has_the_offsets_of_its_characters() -> None:
    (place,) = SOURCE.places("len($KEY) > most")

    assert TEXT[place.start : place.end] == "len(key) > most"
    assert place.filled("len($KEY) > 0") == "len(key) > 0"


def test_a_script_is_read_as_well() -> None:
    source = Source("page.js", "function go(x) { if (x === 1) { stop({ ours: x }); } }")

    assert len(source.places("ours: x", within="go", inside="x === 1")) == 1


def test_text_that_is_no_python_is_refused_as_a_pattern() -> None:
    with pytest.raises(PatternError, match="is not valid python"):
        SOURCE.places("a b c")
