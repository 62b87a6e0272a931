"""Findings for checks that do not apply if calls have another shape than the contract's example."""

from __future__ import annotations

from chatkey_check.calls.shared import Calls
from chatkey_check.judging.findings import passed
from chatkey_check.model import Finding


def of_own_shape(why: str) -> Finding:
    """Return a pass which says that there is nothing to judge, and why."""
    return passed(f"does not apply to your call, {why}")


def without_body(calls: Calls) -> Finding | None:
    """Return a pass if the call has no body, since there is then nothing to judge; otherwise None."""
    return None if calls.target.shape.body else of_own_shape("which has no body")


def without_json(calls: Calls) -> Finding | None:
    """Return a pass if the body of the call is not JSON, since there is then nothing to judge; otherwise None."""
    return None if calls.target.shape.json else of_own_shape("whose body is not JSON")
