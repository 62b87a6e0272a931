"""Builds the request for a new business, and reads the answer of the adapter or lab."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chatkey_conform.grades.business import Business, HarnessError


def wire(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in wanted.items() if value is not None}


def business_of(wanted: Mapping[str, Any], told: object) -> Business:
    """Return the new business. Raises `HarnessError` if the answer has no id or no secret."""
    if not isinstance(told, dict) or not all(isinstance(told.get(name), str) for name in ("id", "secret_key")):
        raise HarnessError("The answer for a new business must contain the strings `id` and `secret_key`.")
    enabled = [name for name, login in (wanted.get("socials") or {}).items() if login.get("enabled", True)]
    origins = tuple(f"https://{domain}" for domain in wanted.get("domains") or ())
    return Business(told["id"], told["secret_key"], origins, tuple(enabled))
