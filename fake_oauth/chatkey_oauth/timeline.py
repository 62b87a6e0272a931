"""The timeline of a flow: the new verdicts at each step, and a text for a terminal or a test report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chatkey_oauth.engine.flows import Flow, Step, Verdict


def timeline_text(flow: Flow) -> str:
    """Return a line for the flow, and a line for each step with its remarks below."""
    who = f"as {flow.account}" if flow.account else "nobody has signed in"
    lines = [f"{flow.id} at {flow.provider}, client {flow.client_id}, {who}"]
    for step, news in steps_with_news(flow):
        lines.append(f"  +{step.at - flow.began_at:.2f} s  {step.leg:<9} {step.method} {step.path} → {step.status}")
        lines += [f"             {line}" for line in remarks(step, news)]
    return "\n".join(lines)


def steps_with_news(flow: Flow) -> Iterator[tuple[Step, Mapping[str, Verdict]]]:
    """Yield every step with the verdicts that differ from those of earlier steps."""
    known: dict[str, Verdict] = {}
    for step in flow.steps:
        yield step, {name: verdict for name, verdict in step.verdicts.items() if known.get(name) != verdict}
        known |= step.verdicts


def remarks(step: Step, news: Mapping[str, Verdict]) -> Iterator[str]:
    """Yield the remarks on a step: first the faults, then the note, then the verdicts.

    Among the verdicts, those that are not good come first.
    """
    if step.faults:
        yield f"fault: {', '.join(step.faults)}"
    if step.note:
        yield step.note
    for name, verdict in sorted(news.items(), key=lambda item: item[1].mark == "good"):
        yield f"{name} {verdict.mark}: {verdict.words}"
