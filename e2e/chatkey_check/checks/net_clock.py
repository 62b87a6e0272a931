"""net.clock: the endpoint's clock is correct."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.model import PRECONDITIONS, Finding, Severity, Skipped
from chatkey_check.run import Run
from chatkey_check.words import duration

TOLERATED = 30.0


@check(
    "net.clock",
    group=PRECONDITIONS,
    severity=Severity.INFO,
    sent="no extra request: the Date header of an answer is compared with this machine's clock",
    passes="they differ by at most 30 seconds",
    hint="Run NTP on the server and on this machine. The checker judges the times in the tokens by the server's clock "
    "in any case.",
    mistakes=(
        "the server's clock is not synchronised (NTP)",
        "a virtual machine was suspended",
    ),
    needs=("net.latency",),
)
def clock(run: Run) -> Finding:
    """The socket refuses a token whose iat is more than a minute ahead of the socket's clock."""
    skew = run.calls.record.skew
    if skew is None:
        raise Skipped("the answers have no usable Date header")
    if abs(skew) <= TOLERATED:
        return passed("right" if abs(skew) < 2 else f"{abs(skew):.0f} s {_side(skew)} the clock here")
    dated = next(exchange for exchange in run.calls.record.log if exchange.response and exchange.response.get("date"))
    return warned(f"The server's clock is {duration(skew)} {_side(skew)} the clock here.", dated)


def _side(skew: float) -> str:
    return "ahead of" if skew > 0 else "behind"
