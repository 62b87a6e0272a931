"""e2e.socket-refuses-other-key: the token cannot be used without its key."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import passed
from chatkey_check.model import END_TO_END, Finding, Phase, Severity, Verdict
from chatkey_check.run import Run


@check(
    "e2e.socket-refuses-other-key",
    group=END_TO_END,
    severity=Severity.MUST,
    section="5.5",
    sent="the same token on another socket, with a proof by another key",
    passes="refused",
    hint="Your endpoint is correct, but the service does not check cnf.jkt. Report the missing check to the service's "
    "operator.",
    mistakes=("the service does not compare the proof's key with cnf.jkt",),
    needs=("e2e.socket-accepts",),
    phase=Phase.LATER,
)
def socket_refuses_other_key(run: Run) -> Finding:
    """A person who copies a token does not have the token's key. The service must therefore refuse any other key.

    If the service accepts another key, the result of e2e.socket-accepts means nothing.
    """
    from chatkey_peer.key import BrowserKey  # noqa: PLC0415 - cryptography is not needed before

    said = run.live.connect(BrowserKey())
    if said.frame["type"] == "ready":
        return Finding(
            Verdict.ERROR, f"{run.live.service.name} accepts the token with a proof that another key has signed."
        )
    return passed(f"refused: {said.code}")
