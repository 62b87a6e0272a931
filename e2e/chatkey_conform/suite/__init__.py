"""All test cases, one module per subject, in the order of the report."""

from __future__ import annotations

from functools import cache

from chatkey_conform.case import Case
from chatkey_conform.suite import (
    callback,
    calls,
    chat,
    chat_asked,
    chat_refused,
    exchange,
    frames,
    http_answers,
    http_endpoints,
    http_paths,
    opening,
    proofs,
    rates,
    smoke,
    start,
    staying,
    tokens,
    visitors,
)

FAMILIES = (
    smoke.FAMILY,
    http_endpoints.FAMILY,
    http_answers.FAMILY,
    http_paths.FAMILY,
    visitors.FAMILY,
    exchange.FAMILY,
    start.FAMILY,
    callback.FAMILY,
    tokens.FAMILY,
    proofs.FAMILY,
    opening.FAMILY,
    staying.FAMILY,
    chat.FAMILY,
    chat_asked.FAMILY,
    chat_refused.FAMILY,
    frames.FAMILY,
    calls.FAMILY,
    rates.FAMILY,
)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases. A family that several modules share is included only once."""
    return tuple(case for family in dict.fromkeys(FAMILIES) for case in family.cases)
