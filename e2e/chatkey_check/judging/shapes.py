"""Findings for checks that do not apply, because the calls have another format than the contract's example."""

from __future__ import annotations

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.findings import passed
from chatkey_check.model import Finding


def of_own_shape(why: str) -> Finding:
    """Return a pass which says that the check does not apply, and why."""
    return passed(f"does not apply to your call, {why}")


def without_body(calls: Calls) -> Finding | None:
    """Return a pass if the call has no body, because the check then does not apply; otherwise None."""
    return None if calls.target.shape.body else of_own_shape("which has no body")


def without_json(calls: Calls) -> Finding | None:
    """Return a pass if the body of the call is not JSON, because the check then does not apply; otherwise None."""
    return None if calls.target.shape.json else of_own_shape("whose body is not JSON")
