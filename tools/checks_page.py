"""Writes docs/checks.md from the checks themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from chatkey_check import checks
from chatkey_check.model import Question, Severity
from chatkey_check.reports import summary

INTRODUCTION: Final = """\
This page is for integrators.

[`chatkey check`](check-endpoint.md) makes the following checks of a `getToken` endpoint, in an order
that helps with debugging. `chatkey check --explain ID` explains one check in the terminal.

If a **must** check fails, people cannot sign in, or the wrong people can sign in. If a **should** or **info** check
fails, the endpoint works but can be improved, and the checker reports a warning. A normal call is `POST {"jkt": …}`
with the session of the login, `Content-Type: application/json` and the page's own `Origin`.
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
    yield f"\n### {check.id}\n\n{_prose(check.why)}\n\n- Level: {about}\n"
    yield f"- Sent: {_prose(check.sent)}\n- Passes if: {_prose(check.passes)}\n"
    if check.needs:
        yield f"- Judged only if these pass: {', '.join(f'`{name}`' for name in check.needs)}\n"
    yield "".join(["- Mistakes that cause it:\n", *(f"  - {_prose(mistake)}\n" for mistake in check.mistakes)])
    yield f"\nWhat to change: {_prose(check.hint)}\n"
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
