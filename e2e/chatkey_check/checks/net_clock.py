"""net.clock: the endpoint's clock is correct."""

from __future__ import annotations

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.judging.times import LEEWAY, seconds
from chatkey_check.model import PRECONDITIONS, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.words import duration

TOLERATED = 30.0
TOO_FAR = 5 * 60.0


@check(
    "net.clock",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    section="2.4",
    sent="no extra request to the endpoint: an answer's Date header is compared with this machine's clock, or with "
    "that of --service-url",
    passes="they differ by at most 30 seconds; more than 5 minutes is a failure, unless the tokens' iat is right",
    hint="Run NTP on the server, and compare this machine's clock, too: the service judges tokens by its own clock.",
    mistakes=(
        "the server's clock is not synchronised (NTP)",
        "a virtual machine was suspended",
    ),
    needs=("net.latency",),
)
def clock(run: Run) -> Finding:
    """The socket refuses a token whose iat is more than a minute ahead of the socket's clock, or whose exp is over."""
    calls = run.calls
    skew = calls.record.skew
    if skew is None:
        return passed("no usable Date header; the token's own times are judged")
    whose = "the service's clock" if calls.service_skew else "the clock here"
    off = skew - calls.service_skew
    if abs(off) <= TOLERATED:
        return passed("right" if abs(off) < 2 else f"{abs(off):.0f} s {_side(off)} {whose}")
    dated = next(exchange for exchange in calls.record.log if exchange.response and exchange.response.get("date"))
    say = failed if abs(off) > TOO_FAR and not _signs_in_time(calls) else warned
    return say(f"The server's clock is {duration(off)} {_side(off)} {whose}.", dated)


def _signs_in_time(calls: Calls) -> bool:
    """Return whether the token's iat is right. Then only the Date header is wrong."""
    issued = seconds(calls.first.claims, "iat") if calls.target.login else None
    return issued is not None and abs(issued - calls.first.answered_at - calls.service_skew) <= LEEWAY


def _side(skew: float) -> str:
    return "ahead of" if skew > 0 else "behind"
