"""What a scenario needs of the service that it is run against: said by a mark, and held to the truth where it is ours.

`@pytest.mark.needs("clock", "social:google")` names capabilities of `chatkey_e2e.conform.capabilities`, or `kit`: what
is about this kit itself, its checker, demo, panels and fake provider's pages, and so about no other service.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from chatkey_e2e.conform.capabilities import CAPABILITIES, socials

KIT: Final = "kit"

HANDLE: Final = "widget-events"
"""What every scenario needs that drives the widget by the handle of ours; it is not said by a mark."""

ANY_WIDGET: Final = "any_widget"
"""The mark of scenarios that drive a widget by what people see of it, and judge it by what leaves the page."""

SEEN: Final = frozenset(CAPABILITIES) - {"widget-events", "widget-texts", "widget-languages", "rate-limits", "admin"}
"""Those whose use is noted: the others are words on a screen, or served by pages of the kit."""

_noted: set[str] = set()


def note(name: str) -> None:
    """Note that the running test uses a capability."""
    _noted.add(name)


@contextmanager
def for_comfort() -> Iterator[None]:
    """Note no use: the test does without where a target lacks it."""
    before = set(_noted)
    try:
        yield
    finally:
        _noted.intersection_update(before)


def note_ask(method: str, path: str) -> None:
    """Note what a request to the service's lab is a use of."""
    for (asked, beginning), name in _ASKED.items():
        if method == asked and f"{path}/".startswith(f"{beginning}/"):
            note(name)


_ASKED: Final = {
    ("POST", "/clock"): "clock",
    ("POST", "/reset"): "clock",
    ("PATCH", "/providers"): "change",
    ("GET", "/members"): "member-records",
    ("POST", "/faults"): "faults",
    ("GET", "/events"): KIT,
    ("POST", "/agent"): "agent",
    ("POST", "/agents"): KIT,
    ("POST", "/administrators"): KIT,
}


def begin() -> None:
    """Forget what was noted: another test begins."""
    _noted.clear()


def needed(item: pytest.Item) -> frozenset[str]:
    """Return what a test's marks name. Raises `pytest.UsageError` for a name that is not known."""
    names = frozenset(name for mark in item.iter_markers("needs") for name in mark.args)
    if unknown := sorted(names - CAPABILITIES.keys() - {KIT}):
        raise pytest.UsageError(f"{item.nodeid}: needs names the unknown {unknown[0]!r}")
    return names


def socials_of(item: pytest.Item) -> list[str]:
    """Return the social providers that a test's marks name, in the order of the login page."""
    return list(socials(needed(item)))


def untrue(item: pytest.Item) -> str:
    """Return one sentence for each need that a test has and does not say, or says and does not have."""
    said, had = needed(item) | _implied(item), frozenset(_noted)
    if KIT in said:
        return ""
    return "\n".join(
        (
            *(f"It uses {name!r} and does not say so: @pytest.mark.needs({name!r})." for name in sorted(had - said)),
            *(f"It says that it needs {name!r}, and does not use it." for name in sorted((said - had) & SEEN)),
        )
    )


def missing(item: pytest.Item, have: Iterable[str]) -> frozenset[str]:
    """Return what a test needs and a target does not have."""
    return (needed(item) | _implied(item)) - frozenset(have)


def _implied(item: pytest.Item) -> frozenset[str]:
    """Return what every test needs that does not say it is about any widget, or about something else altogether."""
    return frozenset() if item.get_closest_marker(ANY_WIDGET) else frozenset({HANDLE})
