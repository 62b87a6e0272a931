"""Renders Markdown in the same way as GitHub and GitLab."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.page import Page

LINKED: Final = re.compile(r"@\w+|\w+://|www\.")
"""Text that becomes a link without any markup."""


def rendered(markdown: str) -> Page:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.add_render_rule("text", _linked)
    return Page(parser.render(markdown).replace("<!-- -->", ""))


def _linked(_: object, tokens: Sequence[Token], place: int, *__: object) -> str:
    return LINKED.sub(r"<a>\g<0></a>", escape(tokens[place].content))
