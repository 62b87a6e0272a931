"""Functions that create findings."""

from __future__ import annotations

from typing import Final

from chatkey_check.exchange import Exchange
from chatkey_check.model import Finding, Verdict, Where

WORKERS: Final = "Check that all workers or instances have the same settings and clock."


def passed(message: str = "") -> Finding:
    """Return a finding that nothing is wrong. `message` may say what was seen."""
    return Finding(Verdict.PASS, message)


def failed(message: str, *about: Exchange, hint: str | None = None, where: Where | None = None) -> Finding:
    """Return a finding that the endpoint does not work, or that it gives a token to a person who should not get one."""
    return Finding(Verdict.FAIL, message, hint, about, where=where)


def warned(message: str, *about: Exchange, hint: str | None = None, where: Where | None = None) -> Finding:
    """Return a finding that the endpoint works, but should do something better."""
    return Finding(Verdict.WARN, message, hint, about, where=where)
