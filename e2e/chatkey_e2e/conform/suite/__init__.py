"""The cases: a module for each subject, in the order in which a report has them."""

from __future__ import annotations

from functools import cache

from chatkey_e2e.conform.case import Case
from chatkey_e2e.conform.suite import (
    callback,
    chat,
    exchange,
    frames,
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
    frames.FAMILY,
    rates.FAMILY,
)


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    return tuple(case for family in FAMILIES for case in family.cases)
