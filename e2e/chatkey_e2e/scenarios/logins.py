"""Parametrises scenarios by social provider. A parameter needs only one provider."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

USUAL: Final = ("google", "github", "apple")
"""One provider with OpenID Connect, one without, and one that posts its answer. The others run as long tests."""


def each(socials: Iterable[str]) -> list[Any]:
    """Return one parameter for each provider. A parameter is skipped if the target lacks its provider."""
    return [pytest.param(social, marks=_marks(social), id=social) for social in socials]


def _marks(social: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.needs(f"social:{social}"), *(() if social in USUAL else (pytest.mark.long,))]
