"""Writes the report in Markdown, for a comment on a pull request or the summary of a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from chatkey_check.model import Evidence, Outcome, Verdict
from chatkey_check.reports import summary
from chatkey_peer.exits import Exit

if TYPE_CHECKING:
    from chatkey_check.model import Report

SPECIAL: Final = re.compile(r"([\\`*_\[\]<>#|~&$])")
SIGNS: Final = {Exit.CLEAN: "✅", Exit.WARNINGS: "⚠️", Exit.NOT_ALL_JUDGED: "⚠️"}
MARKS: Final = {Verdict.FAIL: "❌", Verdict.WARN: "⚠️", Verdict.ERROR: "💥"}


def write(report: Report) -> str:
    return "\n\n".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    yield f"### {SIGNS.get(summary.result(report), '❌')} getToken: {_text(summary.headline(report))}"
    words = " · ".join(f"{count} {summary.WORDS[verdict]}" for verdict, count in summary.counted(report))
    yield f"{_code(report.target)}: {words}"
    cause = report.cause
    if cause:
        yield from _cause(cause)
    others = [outcome for outcome in report.outcomes if outcome.verdict in summary.FINDINGS and outcome is not cause]
    if others:
        yield _table(others)
        yield from (part for outcome in others for part in _calls(outcome))
    if report.stale:
        yield "**Outdated entries in the file of known failures**\n\n" + "\n".join(
            f"- {_text(line)}" for line in report.stale
        )
    reasons = summary.reasons(report)
    if reasons:
        lines = (f"- {_text(why)}: {', '.join(map(_code, ids))}" for why, ids in reasons.items())
        listed = "**Not judged**\n\n" + "\n".join(lines)
        yield listed if report.missed else _folded("Not judged", listed)
    more = summary.options(report)
    if more:
        lines = (f"- {_code(option)}: {', '.join(map(_code, ids))}" for option, ids in more.items())
        yield _folded("Options that allow more checks", "\n".join(lines))
    yield _folded("About this run", "\n".join(f"- {name}: {_code(value)}" for name, value in summary.facts(report)))


def _cause(outcome: Outcome) -> Iterator[str]:
    origin = f" ({summary.source(outcome.check)})" if outcome.check.section else ""
    yield f"**Start here: {_code(outcome.check.id)}**{origin}"
    yield f"> **{_text(outcome.message)}**\n>\n> {_text(outcome.hint)}\n>\n> {_text(outcome.check.why)}"
    lines = [f"{language}\n{_fenced(code)}" for language, code in outcome.check.mend.items()]
    if lines:
        yield _folded("Correct code", "\n\n".join(lines))
    yield from _calls(outcome)


def _table(outcomes: list[Outcome]) -> str:
    rows = (f"| {MARKS[o.verdict]} {_code(o.check.id)} | {_found(o)} | {_text(o.hint)} |" for o in outcomes)
    return "\n".join(["| check | what was found | what to change |", "| --- | --- | --- |", *rows])


def _found(outcome: Outcome) -> str:
    return f"{_text(outcome.message)} *Known: {_text(outcome.known)}*" if outcome.known else _text(outcome.message)


def _calls(outcome: Outcome) -> Iterator[str]:
    if outcome.evidence:
        calls = "\n\n".join(map(_call, outcome.evidence))
        yield _folded(f"Repeat the calls of {_code(outcome.check.id)}", calls)


def _call(seen: Evidence) -> str:
    return f"{_text(seen.label)}\n\n{_fenced(seen.curl, 'sh')}\n\n{_fenced(seen.response, 'http')}"


def _folded(title: str, text: str) -> str:
    shown = re.sub(r"`([^`]*)`", r"<code>\1</code>", title)
    return f"<details><summary>{shown}</summary>\n\n{text}\n\n</details>"


def _text(text: str) -> str:
    """Escape a text, so that it contains no markup, no link, and no mention of a user."""
    escaped = SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return escaped.replace("@", "@<!-- -->").replace("://", ":<!-- -->//").replace("www.", "www<!-- -->.")


def _code(text: str) -> str:
    """Return text as inline code. The text is enclosed in a longer run of backticks than it contains."""
    flat = " ".join(text.split())
    fence = "`" * (_longest(flat) + 1)
    return f"{fence} {flat} {fence}" if "`" in flat else f"{fence}{flat}{fence}"


def _fenced(text: str, language: str = "") -> str:
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
