"""Reads HTML pages, and Markdown as it is shown on GitHub and GitLab."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from html.parser import HTMLParser
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

LINKED: Final = re.compile(r"@\w+|\w+://|www\.")
"""Text that forges turn into a link although it has no markup."""


class Page(HTMLParser):
    """Parses a page into its tags with their attributes, its text, and the text of its inline blocks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: dict[str, str] = {}
        self._texts: list[str] = []
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in {"style", "script"}:
            self.blocks[self._inside] = data
        else:
            self._texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts).split())

    @property
    def shape(self) -> list[tuple[str, ...]]:
        """The tags with the names of their attributes. They must not depend on foreign text."""
        return [(tag, *attrs) for tag, attrs in self.tags]

    def named(self, tag: str, **wanted: Any) -> list[dict[str, str | None]]:
        return [attrs for found, attrs in self.tags if found == tag and wanted.items() <= attrs.items()]


def rendered(markdown: str) -> Page:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.add_render_rule("text", _linked)
    return Page(parser.render(markdown))


def _linked(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    return LINKED.sub(r"<a>\g<0></a>", escape(tokens[place].content))
