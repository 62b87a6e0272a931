"""A flow's timeline as plain text, for a terminal or the report of a failed test."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatkey_oauth.engine.flows import Flow, Step


def timeline_text(flow: Flow) -> str:
    """One line for the flow, one for each step, and below it what is to be said of it."""
    who = f"as {flow.account}" if flow.account else "nobody signed in"
    lines = [f"{flow.id} at {flow.provider}, client {flow.client_id}, {who}"]
    for step in flow.steps:
        lines.append(f"  +{step.at - flow.began_at:.2f} s  {step.leg:<9} {step.method} {step.path} → {step.status}")
        lines += [f"             {line}" for line in remarks(step)]
    return "\n".join(lines)


def remarks(step: Step) -> Iterator[str]:
    """What is to be said of a step: faults first, then the verdicts that are not good, then the good ones."""
    if step.faults:
        yield f"fault: {', '.join(step.faults)}"
    if step.note:
        yield step.note
    for name, verdict in sorted(step.verdicts.items(), key=lambda item: item[1].mark == "good"):
        yield f"{name} {verdict.mark}: {verdict.words}"
