"""net.resolves: something listens at the address."""

from __future__ import annotations

from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import PRECONDITIONS, Finding, Severity
from chatkey_check.run import Run
from chatkey_check.wire.http import Unreachable


@check(
    "net.resolves",
    group=PRECONDITIONS,
    severity=Severity.MUST,
    sent="no request: the name is resolved, and a connection is opened",
    passes="a connection opens within 5 seconds",
    hint="Start the backend, or correct the address. Names under .localhost always mean this machine.",
    mistakes=(
        "the backend is not running, or listens on another port",
        "the backend listens inside a container, or on an address that is not reachable from here",
        "this machine cannot resolve the name (--connect-to sets the address)",
    ),
)
def resolves(run: Run) -> Finding:
    """Without a connection, the checker cannot check anything."""
    target = run.calls.target
    try:
        address = run.calls.wire.reach(target.url)
    except Unreachable as error:
        host = f"[{target.host}]" if ":" in target.host else target.host
        return failed(f"Nothing is listening on {host}:{target.port} ({error}).")
    return passed(f"{target.host} is {address}")
