"""Tests the dates in the headers of responses."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from chatkey_serving.dates import http_date


@pytest.mark.parametrize("second", [0, 951_782_399, 1_709_164_800, 1_798_761_599, 4_102_444_800])
def test_a_date_is_the_one_of_the_standard_library(second: int) -> None:
    assert http_date(second).decode() == formatdate(second, usegmt=True)
