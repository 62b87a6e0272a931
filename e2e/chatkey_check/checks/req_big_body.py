"""req.big-body: a body that is far too large is refused quickly."""

from __future__ import annotations

from chatkey_check.calls.requests import Variation
from chatkey_check.calls.shared import Calls
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed, warned
from chatkey_check.judging.shapes import without_body
from chatkey_check.model import BAD_REQUESTS, Finding, Severity
from chatkey_check.run import Run

LONG_JKT = 10_000
BODY = 1_000_000
QUICK = 2.0


@check(
    "req.big-body",
    group=BAD_REQUESTS,
    severity=Severity.SHOULD,
    sent="a jkt of 10,000 characters, and a body of one megabyte with a valid jkt",
    passes="no token, a status below 500, within 2 seconds",
    hint="Limit the size of the body before you parse the body. A kilobyte is enough.",
    mistakes=(
        "the size of request bodies is not limited",
        "a regular expression or a hash takes long for a long string",
    ),
    mend={
        "Python": 'app.config["MAX_CONTENT_LENGTH"] = 10_000',
        "Node.js": 'app.use(express.json({ limit: "10kb" }));',
        "nginx": "client_max_body_size 10k;",
    },
    needs=("req.post-json", "req.no-redirect"),
)
def big_body(run: Run) -> Finding:
    """If your endpoint reads large bodies, anyone can keep your workers busy with a few requests."""
    calls = run.calls
    return without_body(calls) or _judged(calls)


def _judged(calls: Calls) -> Finding:
    bodies = {
        "a jkt of 10,000 characters": Variation(jkt="A" * LONG_JKT),
        "a body of one megabyte": Variation(more={"more": "A" * BODY}),
    }
    for what, how in bodies.items():
        answer = calls.ask(what, calls.anybody, **how)
        if answer.seconds > QUICK:
            by_itself: Variation = {**how, "measured": True}
            answer = calls.ask(f"{what}, sent alone", calls.anybody, **by_itself)
        if answer.minted:
            return warned(f"{what[:1].upper()}{what[1:]} gets a token: the size is not limited.", answer)
        if answer.status >= 500:
            return warned(f"{what[:1].upper()}{what[1:]} gets {answer.status}.", answer)
        if answer.timed_out or answer.seconds > QUICK:
            return warned(f"{what[:1].upper()}{what[1:]} keeps the server busy for {answer.seconds:.1f} s.", answer)
    return passed()
