"""Reads the forms of a page: the values that a browser would send, and the address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

CSRF_META: Final = re.compile(r"csrf|xsrf", re.IGNORECASE)
SENT_AS_THEY_ARE: Final = frozenset({"hidden", "submit"})


@dataclass
class Form:
    action: str = ""
    names: set[str] = field(default_factory=set[str])
    ready: dict[str, str] = field(default_factory=dict[str, str])
    """The values set before anybody types: hidden inputs and the button. If a name occurs twice, the first counts."""
    has_password: bool = False

    def filled(self, fields: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the values that a browser sends when these fields are filled in."""
        return {**self.ready, **dict(fields)}


class Forms(HTMLParser):
    """Parses the forms of a page, and the `content` of its meta elements by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.metas: dict[str, str] = {}
        self._open: Form | None = None
        with suppress(AssertionError):  # the parser raises it for HTML that every browser accepts
            self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in reversed(attrs)}
        match tag:
            case "form":
                self._open = Form(given.get("action", "").strip())
                self.found.append(self._open)
            case "meta" if given.get("name") and "content" in given:
                self.metas.setdefault(given["name"], given["content"])
            case "input" | "button" | "select" | "textarea" if self._open is not None:
                _note(self._open, tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None

    @property
    def csrf(self) -> str:
        """The CSRF token in a meta element. Scripts send this token in a header. Empty if there is no such element."""
        return next((value for name, value in self.metas.items() if CSRF_META.search(name) and "param" not in name), "")

    def wanted(self, fields: Iterable[tuple[str, str]]) -> Form | None:
        """Return the form that has one of these fields.

        If several forms match, prefer the first with a password field.
        """
        names = {name for name, _ in fields}
        fitting = [form for form in self.found if form.names & names] or self.found
        return next((form for form in fitting if form.has_password), next(iter(fitting), None))


def _note(form: Form, tag: str, given: Mapping[str, str]) -> None:
    kind = given.get("type", "submit" if tag == "button" else "text").lower()
    form.has_password |= kind == "password"
    name = given.get("name")
    if not name:
        return
    form.names.add(name)
    if kind in SENT_AS_THEY_ARE:
        form.ready.setdefault(name, given.get("value", ""))
