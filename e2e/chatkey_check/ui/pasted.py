"""Explains a pasted token with the checks that need only a token. Nothing is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from chatkey_check import checks, reading
from chatkey_check.calls.shared import Calls
from chatkey_check.evidence.masks import Masks
from chatkey_check.exchange import Exchange, Request, Response
from chatkey_check.live.planned import PlannedLive
from chatkey_check.model import Verdict
from chatkey_check.reports.summary import FINDINGS
from chatkey_check.run import Run
from chatkey_check.running.runner import report_of
from chatkey_check.shape import EXAMPLE
from chatkey_check.target import Login, Target

OF_A_TOKEN: Final = (
    *("jwt.compact", "jwt.alg", "jwt.signature", "jwt.header-clean", "jwt.payload", "jwt.size"),
    *("claim.cnf", "claim.pid", "claim.type", "claim.uid", "claim.uid-reserved", "claim.uid-pii", "claim.exp-type"),
    *("claim.lifetime", "claim.iat", "claim.nbf", "claim.no-sensitive", "claim.display", "claim.avatar"),
)
"""The checks that need nothing but a token."""


class PastedWire:
    """Answers every call with the same token, and sends nothing."""

    def __init__(self, token: str) -> None:
        self._body = json.dumps({"token": token}).encode()

    def reach(self, url: str) -> str:
        """Pretend that a server listens at the address."""
        return url

    def shake_hands(self, url: str) -> None:
        """Pretend that the certificate is valid."""

    def send(self, request: Request) -> Exchange:
        return Exchange(request, Response(200, (), self._body), None, time.time(), 0.0)

    def send_together(self, requests: Sequence[Request]) -> list[Exchange]:
        return [self.send(request) for request in requests]

    def spread(self) -> None: ...

    def close(self) -> None: ...


def explained(token: str, target: Target) -> dict[str, Any]:
    """Return the token's header and claims, and the findings of the checks."""
    token = token.strip().removeprefix("Bearer ").strip("\"'")
    known = replace(target, login=Login(), login_b=None, live=None, shape=EXAMPLE)
    calls = Calls(known, PastedWire(token), now=time.time, sleep=lambda _: None)
    with Run(calls, PlannedLive(calls)) as run:
        report = report_of(run, checks=[checks.load_one(name) for name in OF_A_TOKEN], in_line=True)
    findings = [
        {"id": found.check.id, "verdict": found.verdict, "message": found.message, "hint": found.hint}
        for found in report.outcomes
        if found.verdict in FINDINGS
    ]
    passed = report.count(Verdict.PASS)
    return {"findings": findings, "passed": passed, "header": _part(token, 0), "claims": _part(token, 1)}


def _part(token: str, number: int) -> str:
    """Return a part of a token as indented JSON, or an empty text.

    Part 0 is the header, and part 1 contains the claims.
    """
    parts = token.split(".")
    value = reading.lenient_claims(f".{parts[number]}") if len(parts) > number else {}
    return Masks().masked(json.dumps(value, indent=2, ensure_ascii=False)) if value else ""
