"""Parametrises scenarios by social provider. Each parameter needs only its own provider."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

USUAL: Final = ("google", "github", "apple")
"""One provider with OpenID Connect, one without, and one that posts its answer. The others run as long tests."""


def each(socials: Iterable[str]) -> list[Any]:
    """Return one parameter per provider. A target without that provider skips it."""
    return [pytest.param(social, marks=_marks(social), id=social) for social in socials]


def _marks(social: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.needs(f"social:{social}"), *(() if social in USUAL else (pytest.mark.long,))]
