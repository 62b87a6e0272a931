"""Writes the report in Markdown, for a comment on a pull request or the summary of a CI job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from chatkey_check.model import Evidence, Outcome, Verdict
from chatkey_check.reports import summary
from chatkey_peer.exits import Exit
from chatkey_peer.markdown import code, fenced, folded, literal, table

if TYPE_CHECKING:
    from chatkey_check.model import Report

SIGNS: Final = {Exit.CLEAN: "✅", Exit.WARNINGS: "⚠️", Exit.NOT_ALL_JUDGED: "⚠️"}
MARKS: Final = {Verdict.FAIL: "❌", Verdict.WARN: "⚠️", Verdict.ERROR: "💥"}


def write(report: Report) -> str:
    return "\n\n".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    yield f"### {SIGNS.get(summary.result(report), '❌')} getToken: {literal(summary.headline(report))}"
    words = " · ".join(f"{count} {summary.WORDS[verdict]}" for verdict, count in summary.counted(report))
    yield f"{code(report.target)}: {words}"
    cause = report.cause
    if cause:
        yield from _cause(cause)
    others = [outcome for outcome in report.outcomes if outcome.verdict in summary.FINDINGS and outcome is not cause]
    if others:
        rows = ((f"{MARKS[o.verdict]} {code(o.check.id)}", _found(o), literal(o.hint)) for o in others)
        yield table(("check", "what was found", "what to change"), rows)
        yield from (part for outcome in others for part in _calls(outcome))
    if report.stale:
        yield "**Outdated entries in the file of known failures**\n\n" + "\n".join(
            f"- {literal(line)}" for line in report.stale
        )
    reasons = summary.reasons(report)
    if reasons:
        lines = (f"- {literal(why)}: {', '.join(map(code, ids))}" for why, ids in reasons.items())
        listed = "**Not judged**\n\n" + "\n".join(lines)
        yield listed if report.missed else folded("Not judged", listed)
    more = summary.options(report)
    if more:
        lines = (f"- {code(option)}: {', '.join(map(code, ids))}" for option, ids in more.items())
        yield folded("Options that allow more checks", "\n".join(lines))
    yield folded("About this run", "\n".join(f"- {name}: {code(value)}" for name, value in summary.facts(report)))


def _cause(outcome: Outcome) -> Iterator[str]:
    origin = f" ({summary.source(outcome.check)})" if outcome.check.section else ""
    yield f"**Start here: {code(outcome.check.id)}**{origin}"
    yield f"> **{literal(outcome.message)}**\n>\n> {literal(outcome.hint)}\n>\n> {literal(outcome.check.why)}"
    lines = [f"{language}\n{fenced(mended)}" for language, mended in outcome.check.mend.items()]
    if lines:
        yield folded("Correct code", "\n\n".join(lines))
    yield from _calls(outcome)


def _found(outcome: Outcome) -> str:
    return (
        f"{literal(outcome.message)} *Known: {literal(outcome.known)}*" if outcome.known else literal(outcome.message)
    )


def _calls(outcome: Outcome) -> Iterator[str]:
    if outcome.evidence:
        calls = "\n\n".join(map(_call, outcome.evidence))
        yield folded(f"Repeat the calls of <code>{outcome.check.id}</code>", calls)


def _call(seen: Evidence) -> str:
    return f"{literal(seen.label)}\n\n{fenced(seen.curl, 'sh')}\n\n{fenced(seen.response, 'http')}"
