"""Tests of the Markdown of reports. Foreign text must not become markup, wherever a report quotes it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.peer.rendering import rendered

from chatkey_peer.markdown import code, fenced, literal, prose, table

TEXTS = [
    "<script>alert(1)</script> <img src=x onerror=alert(1)> <!-- <a@b.example>",
    "[a](javascript:x) ![a](b) [a]: b",
    "*a* **a** _a_ ~~a~~ $a$ \\",
    "&lt;b&gt; &amp;",
    "a | b || c",
    "`a` ``` b",
    "a\n\n# b\n- c\n\n    d",
    *("- a", "+ a", "* a", "1. a", "23) a", "> a", "# a", "===", "---", "a  \nb", "= a"),
    "@team http://a.example www.a.example",
]
PLACES: list[Callable[[str], str]] = [
    literal,
    lambda text: f"a\n{literal(text)}",
    lambda text: f"> **{literal(text)}**",
    lambda text: f"- {literal(text)}: {code(text)}",
    lambda text: table(("a", "b", "c"), [(literal(text), code(text), "d")]),
    code,
    fenced,
]


@pytest.mark.parametrize("text", TEXTS)
def test_foreign_text_stays_text(text: str) -> None:
    for place in PLACES:
        page, plain = rendered(place(text)), rendered(place("x"))

        assert page.shape == plain.shape
        assert page.text.split() == plain.text.replace("x", text).split()


def test_backticks_in_a_text_of_our_own_mark_code() -> None:
    page = rendered(prose("The claim `a|b` is <b> and `c` *d*."))

    assert [tag for tag, _ in page.tags] == ["p", "code", "code"]
    assert page.text.strip() == "The claim a|b is <b> and c *d*."
