"""The terminal page of one check, and the list of all checks."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import groupby
from shutil import get_terminal_size
from textwrap import fill
from typing import Final

import click

from chatkey_check import checks
from chatkey_check.model import Question
from chatkey_check.reports import summary

WIDEST: Final = 100
"""Longest line, in characters. Longer lines are hard to read."""


class UnknownCheckError(LookupError):
    """There is no check with this name. The message suggests similar names."""


def page(check_id: str) -> str:
    """Return the full description of a check. Raises `UnknownCheckError`."""
    try:
        check = checks.load_one(check_id)
    except KeyError:
        raise UnknownCheckError(_unknown(check_id)) from None
    return "\n".join(_lines(check))


def listing() -> str:
    """Return all checks by group, each with its condition for passing."""
    width = max(map(len, checks.ORDER))
    lines = ["Show one of these checks: chatkey check --explain ID"]
    for group, members in groupby(checks.load(), lambda check: check.group):
        lines += ["", click.style(group, bold=True)]
        lines += [_wrapped(f"{check.id:<{width}}  {check.passes}", rest=width + 4) for check in members]
    return "\n".join(lines)


def _lines(check: Question) -> Iterator[str]:
    about = " · ".join(filter(None, (check.group, check.severity, summary.source(check))))
    yield click.style(check.id, bold=True) + click.style(f"  {about}", dim=True)
    yield ""
    yield _wrapped(check.why, first=0)
    for title, text in (("Sent", check.sent), ("Passes", check.passes)):
        yield from ("", click.style(title, bold=True), _wrapped(text))
    yield from ("", click.style("Mistakes that cause it", bold=True))
    yield from (_wrapped(f"- {mistake}", rest=4) for mistake in check.mistakes)
    yield from ("", click.style("What to change", bold=True), _wrapped(check.hint))
    width = max(map(len, check.mend), default=0)
    for language, code in check.mend.items():
        for number, line in enumerate(code.splitlines()):
            yield f"    {language if number == 0 else '':<{width}}  {click.style(line, fg='green')}"
    yield from ("", _wrapped(f"In the documentation: chatkey docs {check.id}", first=0))
    if check.needs:
        yield from ("", _wrapped(f"This check is judged only if these checks pass: {', '.join(check.needs)}.", first=0))


def _wrapped(text: str, *, first: int = 2, rest: int | None = None) -> str:
    width = min(get_terminal_size().columns, WIDEST)
    return fill(
        text,
        width,
        initial_indent=" " * first,
        subsequent_indent=" " * (first if rest is None else rest),
        break_on_hyphens=False,  # ids and options have to stay whole
        break_long_words=False,
    )


def _unknown(check_id: str) -> str:
    near = get_close_matches(check_id, checks.ORDER, n=3) or [name for name in checks.ORDER if check_id in name][:3]
    hint = f"Did you mean {' or '.join(near)}?" if near else "--explain without an id lists all checks."
    return f"There is no check {check_id!r}. {hint}"
