"""Writes docs/checks.md from the checks themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from chatkey_check import checks
from chatkey_check.model import Question, Severity
from chatkey_check.reports import summary

INTRODUCTION: Final = """\
[`chatkey check`](check-endpoint.md) judges a `getToken` endpoint by these checks, in this order, so that the first
failure is the cause. `chatkey check --explain ID` shows one of them in the terminal.

If a **must** check fails, people cannot sign in, or the wrong people can. A **should** or **info** check that fails is
a warning. A *normal call* is `POST {"jkt": …}` with the session of the login, `Content-Type: application/json` and the
page's own `Origin`. The list below each check names common mistakes, the arrow what to change.
"""
NEXT: Final = "\nNext: [common mistakes](common-mistakes.md).\n"
LANGUAGES: Final = {"Python": "python", "Node.js": "js", "PHP": "php", "nginx": "nginx", "Vite": "js", "page": "js"}


def page(note: str) -> str:
    return "".join(["# Checks\n\n", note, INTRODUCTION, *_groups(), NEXT])


def _groups() -> Iterator[str]:
    for group, members in groupby(checks.load(), lambda check: check.group):
        yield f"\n## {group}\n"
        for check in members:
            yield from _check(check)


def _check(check: Question) -> Iterator[str]:
    about = " · ".join(filter(None, (f"**{Severity(check.severity)}**", summary.source(check))))
    yield f"\n### {check.id}\n\n{_prose(check.why)}\n\n{about}\n\n"
    yield f"Sent: {_prose(check.sent)}. Passes if {_prose(check.passes)}.\n\n"
    yield "".join(f"- {_prose(mistake)}\n" for mistake in check.mistakes)
    yield f"\n→ {_prose(check.hint)}\n"
    for language, code in check.mend.items():
        yield f"\n```{LANGUAGES[language]}\n{code}\n```\n"


def _prose(text: str) -> str:
    """Return a text with all Markdown escaped except code between backticks."""
    parts = text.split("`")
    parts[::2] = [_escaped(part) for part in parts[::2]]
    return "`".join(parts)


def _escaped(text: str) -> str:
    for char in ("\\", "*", "_", "<", "[", "]", "|"):
        text = text.replace(char, f"\\{char}")
    return text
