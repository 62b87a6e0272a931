"""Reads HTML pages."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """Parses a page into its tags with their attributes, its text, and its inline scripts and styles.

    `shape` are the tags with the names of their attributes, and the comments. Foreign text must not change them.
    `action` and `fields` are those that a browser would submit without user input.
    """

    def __init__(self, text: str | bytes) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shape: list[tuple[str, ...]] = []
        self.text = ""
        self.blocks: list[tuple[str, str]] = []
        self.action = ""
        self.fields: dict[str, list[str]] = {}
        self.feed(text if isinstance(text, str) else text.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.tags.append((tag, of))
        self.shape.append((tag, *(name for name, _ in attrs)))
        if tag == "form":
            self.action = of.get("action") or ""
        if tag == "input" and of.get("name") and (of.get("type") == "hidden" or "checked" in of):
            self.fields.setdefault(of["name"] or "", []).append(of.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        self.shape.append((f"/{tag}",))

    def handle_comment(self, data: str) -> None:
        self.shape.append(("!--",))

    def handle_data(self, data: str) -> None:
        if self.shape and self.shape[-1][0] in {"script", "style"}:
            self.blocks.append((self.shape[-1][0], data))
        else:
            self.text += data

    def named(self, tag: str, **wanted: Any) -> list[dict[str, str | None]]:
        return [attrs for found, attrs in self.tags if found == tag and wanted.items() <= attrs.items()]

    @property
    def scripts(self) -> list[str]:
        return [text for tag, text in self.blocks if tag == "script"]
