"""The capabilities of the service that a scenario needs. Marks declare them. A run on our service verifies the marks.

`@pytest.mark.needs("clock", "social:google")` names capabilities of `chatkey_conform.capabilities`. `kit` marks
scenarios about this kit itself (its checker, demo, panels and the fake provider's pages), which do not apply to another
service.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from chatkey_conform.capabilities import CAPABILITIES, socials

KIT: Final = "kit"

SOCIAL: Final = "social"
"""The need of one social login, with whichever provider the target declares."""

HANDLE: Final = "widget-events"
"""The need of every scenario that drives our widget through its handle; implied, so that no mark has to declare it."""

ANY_WIDGET: Final = "any_widget"
"""The mark of scenarios for any widget. They use only its visible parts, and check the traffic of the page."""

SEEN: Final = frozenset({*CAPABILITIES, SOCIAL}) - {
    "widget-events",
    "widget-texts",
    "widget-languages",
    "rate-limits",
    "admin",
}
"""The capabilities whose use is recorded. Use of the others cannot be seen: screen texts and pages of the kit."""

_noted: set[str] = set()


def note(name: str) -> None:
    """Record that the running test uses a capability."""
    _noted.add(name)


@contextmanager
def for_comfort() -> Iterator[None]:
    """Record no use of capabilities during the context, because the test also works without them."""
    before = set(_noted)
    try:
        yield
    finally:
        _noted.intersection_update(before)


def note_ask(method: str, path: str) -> None:
    """Record the capability that a request to the service's lab uses."""
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
    """Forget the recorded capabilities at the start of a test."""
    _noted.clear()


def needed(item: pytest.Item) -> frozenset[str]:
    """Return the capabilities in a test's `needs` marks. Raises `pytest.UsageError` for an unknown name."""
    names = frozenset(name for mark in item.iter_markers("needs") for name in mark.args)
    if unknown := sorted(names - CAPABILITIES.keys() - {KIT, SOCIAL}):
        raise pytest.UsageError(f"{item.nodeid}: `needs` has the unknown capability {unknown[0]!r}")
    return names


def socials_of(item: pytest.Item, chosen: str) -> list[str]:
    """Return the social providers in a test's `needs` marks, in the order of the login page.

    A test that needs any provider gets `chosen`.
    """
    return [chosen] if SOCIAL in needed(item) else list(socials(needed(item)))


def untrue(item: pytest.Item) -> str:
    """Return a sentence for each capability that a test uses without declaring it, or declares without using it."""
    said, had = needed(item) | _implied(item), frozenset(_noted)
    if KIT in said:
        return ""
    if SOCIAL in said and (used := socials(had)):
        said, had = said - {SOCIAL}, had - {f"social:{name}" for name in used}
    return "\n".join(
        (
            *(
                f"The test uses {name!r} without declaring it: add @pytest.mark.needs({name!r})."
                for name in sorted(had - said)
            ),
            *(
                f"The test declares that it needs {name!r}, but does not use it."
                for name in sorted((said - had) & SEEN)
            ),
        )
    )


def missing(item: pytest.Item, have: Iterable[str]) -> frozenset[str]:
    """Return the capabilities that a test needs and a target lacks."""
    had = frozenset(have)
    return (needed(item) | _implied(item)) - had - ({SOCIAL} if socials(had) else frozenset())


def _implied(item: pytest.Item) -> frozenset[str]:
    """Return the capability for our widget's handle, which every test needs unless it is marked `any_widget`."""
    return frozenset() if item.get_closest_marker(ANY_WIDGET) else frozenset({HANDLE})
