"""Chooses the grade of a target, and reads its capabilities."""

from __future__ import annotations

from typing import Final

from chatkey_conform.capabilities import declared
from chatkey_conform.grades.business import Businesses
from chatkey_conform.grades.command import CommandBusinesses
from chatkey_conform.grades.lab import LabBusinesses
from chatkey_conform.grades.prepared import PreparedBusinesses
from chatkey_conform.target import Grade, Target, TargetError

RESTART: Final = "restart"
GRADES: Final[dict[Grade, type[PreparedBusinesses | CommandBusinesses | LabBusinesses]]] = {
    "prepared": PreparedBusinesses,
    "command": CommandBusinesses,
    "lab": LabBusinesses,
}


def businesses_of(target: Target) -> Businesses:
    """Return the implementation of the target's grade. Raises `TargetError`."""
    return GRADES[target.document.businesses.grade](target)


def capabilities_of(target: Target, businesses: Businesses) -> frozenset[str]:
    """Return the declared capabilities.

    They come from TARGET.toml, or otherwise from the adapter. Raises `TargetError`.
    """
    have = target.service.have
    told = businesses.capabilities() if have is None else declared(have)
    if target.service.restart:
        return told | {RESTART}
    if RESTART in told:
        raise TargetError(
            f"The capability {RESTART!r} is declared, so target.restart must be the command that restarts the service."
        )
    return told
