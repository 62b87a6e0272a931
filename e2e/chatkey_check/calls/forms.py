"""Reads the forms of a page: the values that a browser would send, and the address."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

SENT: Final = re.compile(r"\.(?:requestSubmit|submit)\s*\(")
"""How a script sends a form."""
CSRF_META: Final = re.compile(r"csrf|xsrf", re.IGNORECASE)
BUTTONS: Final = frozenset({"submit", "image"})
NEVER_SENT: Final = frozenset({"button", "reset", "file"})
TICKED: Final = frozenset({"checkbox", "radio"})
TYPED: Final = frozenset({"text", "email", "tel", "password", "url", "number", "search"})


@dataclass
class Form:
    action: str = ""
    method: str = "post"
    names: set[str] = field(default_factory=set[str])
    ready: dict[str, str] = field(default_factory=dict[str, str])
    """The values set before anybody types. If a name occurs twice, the first counts."""
    has_password: bool = False
    to_type: int = 0
    """Number of inputs into which a person types."""
    has_button: bool = False

    def filled(self, fields: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Return the values that a browser sends when these fields are filled in."""
        return {**self.ready, **dict(fields)}


class Forms(HTMLParser):
    """Parses the forms of a page, and the `content` of its meta elements by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[Form] = []
        self.metas: dict[str, str] = {}
        self._by_id: dict[str, Form] = {}
        self._open: Form | None = None
        self._select: tuple[Form, str] | None = None
        self._waiting: list[tuple[str, Mapping[str, str]]] = []
        self._is_sent = SENT.search(text) is not None
        with suppress(AssertionError):  # the parser raises it for HTML that every browser accepts
            self.feed(text)
        for tag, given in self._waiting:
            if given["form"] in self._by_id:
                _note(self._by_id[given["form"]], tag, given)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in reversed(attrs)}
        match tag:
            case "form":
                self._open = Form(given.get("action", "").strip(), given.get("method", "get").strip().lower())
                self.found.append(self._open)
                self._by_id.setdefault(given.get("id", ""), self._open)
            case "meta" if given.get("name") and "content" in given:
                self.metas.setdefault(given["name"], given["content"])
            case "input" | "button" | "select" | "textarea" if "form" in given:
                self._waiting.append((tag, given))  # the form may come later
            case "input" | "button" | "select" | "textarea" if self._open is not None:
                _note(self._open, tag, given)
                self._select = (self._open, given.get("name", "")) if tag == "select" else self._select
            case "option" if self._select is not None:
                form, name = self._select
                if "selected" in given or name not in form.ready:
                    form.ready[name] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = None
        if tag == "select":
            self._select = None

    @property
    def csrf(self) -> str:
        """The CSRF token in a meta element. Scripts send this token in a header. Empty if there is no such element."""
        return next((value for name, value in self.metas.items() if CSRF_META.search(name) and "param" not in name), "")

    def wanted(self, fields: Iterable[tuple[str, str]]) -> Form | None:
        """Return the form that has one of these fields.

        If several forms match, prefer the first with a password field.
        """
        names = {name for name, _ in fields}
        fitting = [form for form in self.found if form.names & names]
        return next((form for form in fitting if form.has_password), next(iter(fitting), None))

    @property
    def sent_by_script(self) -> Form | None:
        """The page's only form, if it has hidden inputs only and a script sends it, as in a single sign-on."""
        form = self.found[0] if len(self.found) == 1 and self._is_sent else None
        return form if form and form.ready and not form.to_type and form.method == "post" else None


def _note(form: Form, tag: str, given: Mapping[str, str]) -> None:
    """Add a control to its form, with the value that it has before anybody types."""
    kind = given.get("type", "submit" if tag == "button" else "text" if tag == "input" else tag).lower()
    form.has_password |= kind == "password"
    form.to_type += kind in TYPED
    name = given.get("name")
    if not name or "disabled" in given or kind in NEVER_SENT:
        return
    form.names.add(name)
    if kind in BUTTONS:
        if form.has_button:
            return
        form.has_button = True
    if tag == "select" or (kind in TICKED and "checked" not in given):
        return
    form.ready.setdefault(name, given.get("value", "on" if kind in TICKED else ""))
