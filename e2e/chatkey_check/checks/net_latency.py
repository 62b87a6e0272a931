"""net.latency: the endpoint answers quickly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from statistics import median

from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Broken, Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import PRECONDITIONS, Finding, Severity
from chatkey_check.run import Run

SLOW = 1.0
TOO_SLOW = 5.0
SAMPLES = 5
END = (
    "If the body is complete, Content-Length is too large, or it is missing and the connection stays open. Let the "
    "framework count the bytes."
)


@check(
    "net.latency",
    group=PRECONDITIONS,
    severity=Severity.SHOULD,
    sent="two normal calls; three more if one of them took a second",
    passes="the median is below 1 second; 5 seconds or more is a failure",
    hint="Make the call faster, because the visitor waits for the answer. Cache the look-up of the user, but not the "
    "token.",
    mistakes=(
        "the handler looks up the user or their orders in a slow system",
        "the handler reads the secret from a secret store in every call",
        "another request holds the lock of the session",
    ),
    needs=("net.resolves", "net.tls", "net.same-origin", "net.session-works"),
)
def latency(run: Run) -> Finding:
    """Until the endpoint answers, the member appears as a visitor. The widget stops waiting after 10 seconds."""
    samples: list[Exchange] = []
    for sample in islice(_calls(run.calls), SAMPLES):
        samples.append(sample)
        if sample.broken is Broken.UNENDED:
            return failed(f"The answer began, but did not end within {run.calls.target.timeout:g} s.", sample, hint=END)
        if sample.timed_out:
            return failed(f"No answer arrived within {run.calls.target.timeout:g} s.", sample)
        if len(samples) > 1 and _decided(samples):
            break
    middle = median(sample.seconds for sample in samples)
    if middle < SLOW:
        return passed(f"{middle * 1000:.0f} ms")
    slowest = max(samples, key=lambda sample: sample.seconds)
    say = failed if middle >= TOO_SLOW else warned
    return say(f"An answer takes {middle:.1f} s (median of {len(samples)}).", slowest)


def _decided(samples: list[Exchange]) -> bool:
    return all(sample.seconds < SLOW for sample in samples) or all(sample.seconds >= TOO_SLOW for sample in samples)


def _calls(calls: Calls) -> Iterator[Exchange]:
    """Yield calls with the login, or as a visitor if no login was given. Calls that other checks use come first."""
    if calls.target.login is None:
        yield calls.anonymous
        session = calls.nobody
    else:
        yield calls.first
        yield calls.second
        session = calls.member
    while True:
        yield calls.ask("another call, to measure the time", session)
