"""The capabilities that a target can declare. A test that needs an undeclared capability is not applicable."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

from chatkey_protocol.names import SOCIALS

SOCIAL: Final = "social:"

CAPABILITIES: Final[dict[str, str]] = {
    "clock": "a test can move the service's clock",
    "faults": "a test can make the service misbehave",
    **{f"{SOCIAL}{name}": f"login with {social.title}" for name, social in SOCIALS.items()},
    "own-keys": "a business can use its own application at a social provider",
    "agent": "a test can act as an agent: read a conversation, answer in it, and take part in its call",
    "member-records": "a test can read the member records",
    "restart": "a test can restart the service",
    "businesses": "a test can create as many businesses as it needs",
    "change": "a test can change a business",
    "rate-limits": "the service enforces the rates in [limits], and a test may exceed them",
    "search": "a conversation can be searched",
    "calls": "calls can be started and ended, and have audio from revision 3 on",
    "admin": "there is an admin panel",
    "widget-events": "the widget has the same events as ours",
    "widget-texts": "the widget shows the same texts as ours",
    "widget-languages": "the widget has the same languages as ours",
}
"""Every capability name, with its meaning."""


class NotApplicable(Exception):
    """A test needs the capability `capability`, which the target does not declare."""

    def __init__(self, capability: str) -> None:
        super().__init__(f"not declared: {capability} ({CAPABILITIES.get(capability, capability)})")
        self.capability = capability


def declared(names: Iterable[str]) -> frozenset[str]:
    """Return the names as a set. Raises `ValueError` for an unknown name."""
    found = frozenset(names)
    for name in sorted(found - CAPABILITIES.keys()):
        near = difflib.get_close_matches(name, CAPABILITIES, 1)
        raise ValueError(f"{name!r} is not a capability{f'; did you mean {near[0]!r}?' if near else ''}")
    return found


def socials(names: Iterable[str]) -> tuple[str, ...]:
    """Return the social providers among these capabilities, in the order of the login page."""
    given = set(names)
    return tuple(name for name in SOCIALS if f"{SOCIAL}{name}" in given)
