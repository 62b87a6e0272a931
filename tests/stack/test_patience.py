"""Tests that one number determines how long the harness and the tests wait."""

import pytest

from chatkey_stack.patience import USUAL, PatienceError, patience


def test_the_default_patience_is_at_least_30_seconds() -> None:
    assert patience({}) == USUAL >= 30


def test_the_variable_sets_the_patience() -> None:
    assert patience({"CHATKEY_PATIENCE": " 7.5 "}) == 7.5


@pytest.mark.parametrize("given", ["long", "0", "-1", "inf", "nan"])
def test_an_invalid_number_of_seconds_is_reported(given: str) -> None:
    with pytest.raises(PatienceError, match="CHATKEY_PATIENCE must be a number of seconds above 0, for example"):
        patience({"CHATKEY_PATIENCE": given})
