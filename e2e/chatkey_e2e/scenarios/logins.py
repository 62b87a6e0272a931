"""Social providers as parameters of scenarios, each of which needs the one that it is about."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

USUAL: Final = ("google", "github", "apple")
"""One that speaks OpenID Connect, one that does not, and one that posts its answer; the others take longer."""


def each(socials: Iterable[str]) -> list[Any]:
    """Return a parameter for each provider by name; a target without it is not asked."""
    return [pytest.param(social, marks=_marks(social), id=social) for social in socials]


def _marks(social: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.needs(f"social:{social}"), *(() if social in USUAL else (pytest.mark.long,))]
