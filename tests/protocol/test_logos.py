"""Tests of the social providers' logos. The logos must consist of plain shapes and must differ even without colours."""

from __future__ import annotations

import re

import pytest
from tests.protocol.contract_socials import ANNOUNCED, SUPPORTED

from chatkey_protocol.logos import INK, LOGOS, Shape
from chatkey_protocol.names import SOCIALS

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
SHAPES = [(social, shape) for social, shapes in LOGOS.items() for shape in shapes]


def test_every_social_provider_of_the_contract_has_a_sign_of_its_own() -> None:
    outlines = {social: tuple(shape.path for shape in shapes) for social, shapes in LOGOS.items()}

    assert {*SUPPORTED, *ANNOUNCED} <= set(outlines) <= set(SOCIALS)
    assert len(set(outlines.values())) == len(outlines)


@pytest.mark.parametrize(("social", "shape"), SHAPES)
def test_a_logo_consists_of_a_few_shapes_on_the_grid(social: str, shape: Shape) -> None:
    """Paths must be absolute, and areas closed.

    Each colour must be the button's text colour or a fixed colour of the logo.
    """
    assert re.fullmatch(r"[MLHVACQZz0-9. -]+", shape.path), social
    assert all(-1 <= float(number) <= 25 for number in NUMBER.findall(shape.path))
    assert shape.path.endswith("z") or shape.width is not None
    assert shape.colour == INK or re.fullmatch("#[0-9a-f]{6}", shape.colour)
