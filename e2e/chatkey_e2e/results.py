"""Writes the results of the scenarios to a file, from which `chatkey conform` makes its report."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.judging.scenario import REFUSALS, Scenario, write_scenarios
from chatkey_conform.judging.transcript import MOST_STEPS, Step, frame_text, masked
from chatkey_conform.judging.verdict import Verdict
from chatkey_e2e import needs
from chatkey_e2e.aim.applicable import NOT_APPLICABLE
from chatkey_e2e.witness import LEAKED, PRIVATE_KEY, Witness, witness_key
from chatkey_oauth.client import LabError
from chatkey_peer.redaction import Masks

LONGEST: Final = 300
PUBLIC: Final = "/v1/public/"
LEAKS: Final = {
    "2.1/secret-stays": ("a secret of the business",),
    "2.8/key-pair": (PRIVATE_KEY,),
    "2.6/memory-only": ("a token of type 'visitor'",),
    "2.8/member-token-key": ("a token of type 'user'", "a token of type 'identity'"),
}
"""The sentence that a leak breaks, by the first words about the leak."""
REFUSED: Final = {"proof_nonce": "D-10/nonce", "proof_key_mismatch": "5.5/proof-matches"}
"""The sentence that a refused proof breaks, by the code. All other codes break D-10/proof."""
OURS: Final = (HarnessError, LabError)
"""Errors of the adapter, or of a server of the harness. They never count against the target."""


@dataclass
class _Seen:
    verdict: Verdict = Verdict.NOT_RUN
    reason: str = "the run ended before this scenario"
    seconds: float = 0.0
    steps: tuple[Step, ...] = ()

    def judge(self, verdict: Verdict, reason: str = "") -> None:
        self.verdict, self.reason = verdict, reason


class Results:
    """A pytest plugin that records the verdict on each scenario about the contract, and writes the file at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._items: dict[str, pytest.Item] = {}
        self._seen: dict[str, _Seen] = {}
        self._errors_of_ours: set[str] = set()
        self._leaks: dict[str, str] = {}
        self._refusals: dict[str, str] = {}
        self._secrets: set[str] = set()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember the selected scenarios, without those about the kit itself."""
        self._items = {item.nodeid: item for item in session.items if needs.KIT not in needs.needed(item)}
        self._seen = {name: _Seen() for name in self._items}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note whether an error is one of the harness, and keep the traffic of the pages as evidence."""
        if call.excinfo and isinstance(call.excinfo.value, OURS):
            self._errors_of_ours.add(item.nodeid)
        report = yield
        witness = item.stash.get(witness_key, None)
        self._secrets |= witness.hidden if witness else set()
        if call.excinfo and str(call.excinfo.value).startswith(LEAKED):
            leaks = str(call.excinfo.value).removeprefix(LEAKED).splitlines()
            self._leaks = {**dict.fromkeys(leaks, item.name), **self._leaks}
        elif report.failed and item.nodeid in self._seen and witness:
            self._seen[item.nodeid].steps = tuple(_traffic(witness))
            if refusal := witness.refusal:
                sentence = REFUSED.get(refusal["code"], "D-10/proof")
                self._refusals.setdefault(
                    sentence, f"the service refused the proof of {item.name}: {frame_text(refusal)}"
                )
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the verdict of a phase. The first phase that does not pass decides.

        A leak, which a fixture finds afterwards, is a result of its own: the scenario is about something else.
        """
        seen = self._seen.get(report.nodeid)
        if seen is None or (report.failed and report.when == "teardown" and LEAKED.strip() in report.longreprtext):
            return
        seen.seconds += report.duration
        if report.failed:
            is_ours = report.nodeid in self._errors_of_ours
            seen.judge(Verdict.ERROR if is_ours else Verdict.FAILED, _message(report))
        elif report.skipped:
            seen.judge(*_skipped(report))
        elif report.when == "call":
            seen.judge(Verdict.PASSED)

    def pytest_sessionfinish(self) -> None:
        scenarios = [self._scenario(item, self._seen[name]) for name, item in self._items.items()]
        write_scenarios(
            self._file, [*scenarios, *_leaked(self._leaks), *_refused(self._refusals)], Masks(self._secrets)
        )

    def _scenario(self, item: pytest.Item, seen: _Seen) -> Scenario:
        title = " ".join((getattr(item, "obj", None).__doc__ or "").split())
        sentences = [str(sentence) for mark in item.iter_markers("contract") for sentence in mark.args]
        return Scenario(
            id=f"{item.path.name}::{item.name.removesuffix('[chromium]').replace('[chromium-', '[')}",
            title=title,
            sentences=tuple(dict.fromkeys(sentences)),
            verdict=seen.verdict,
            reason=seen.reason,
            seconds=round(seen.seconds, 2),
            steps=seen.steps,
        )


def _leaked(leaks: dict[str, str]) -> Iterator[Scenario]:
    """Yield a failure for each sentence about secrets that a leak breaks."""
    for sentence, words in LEAKS.items():
        if found := sorted(f"{leak} ({name})" for leak, name in leaks.items() if leak.startswith(words)):
            title = "No secret and no token is in a place where the contract does not allow it."
            yield Scenario(f"leaks/{sentence}", title, (sentence,), Verdict.FAILED, "; ".join(found))


def _refused(refusals: dict[str, str]) -> Iterator[Scenario]:
    """Yield a failure for each sentence about proofs that a refused proof breaks."""
    for sentence, reason in refusals.items():
        title = "The service accepts the proofs of the widget."
        yield Scenario(f"{REFUSALS}{sentence}", title, (sentence,), Verdict.FAILED, reason)


def _traffic(witness: Witness) -> Iterator[Step]:
    """Yield the page's latest requests to the service, the frames that it sent, and the answers to `connect`."""
    asked = [f"{request.method} {request.url}" for request in witness.requests if PUBLIC in request.url]
    sent = [f"→ {frame_text(_parsed(message.text))}" for message in witness.sent]
    accepted = [f"← {frame_text(frame)}" for frame in witness.accepted]
    for text in (*asked[-MOST_STEPS:], *sent[-MOST_STEPS:], *accepted[-MOST_STEPS:]):
        yield Step(masked(text, witness.secrets))


def _parsed(text: str) -> Any:
    """Return the frame in a text, or the text if it is not JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _skipped(report: pytest.TestReport) -> tuple[Verdict, str]:
    if hasattr(report, "wasxfail"):
        return Verdict.KNOWN, str(report.wasxfail)
    reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else report.longreprtext
    return (Verdict.NOT_APPLICABLE if reason.startswith(NOT_APPLICABLE) else Verdict.NOT_RUN), reason


def _message(report: pytest.TestReport) -> str:
    """Return the message of a failure in one line, shortened."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = " ".join(str(crash.message if crash else report.longreprtext).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
