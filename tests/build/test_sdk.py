"""Runs the JavaScript tests of `sdk.test.mjs` in Node, without a browser, and reports each one as a pytest test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.node import names, outcomes_of

import chatkey_build

if TYPE_CHECKING:
    from collections.abc import Mapping

TESTS = Path(__file__).with_name("sdk.test.mjs")
SDK = Path(chatkey_build.__file__).parents[1] / "page" / "sdk.js"
NAMES = names(TESTS)

SHOWS = {
    "no global named logout is put on the page": "D-01/globals",
    "the handle and initService are there at once, before any file has arrived": "D-01/globals",
    "calls made before Python runs are kept and made in order": "D-01/queue",
    "what an array named Service holds is called with the handle, in order, at once": "D-01/queue",
    "a ServiceConfig set before the script starts the widget": "4.8/config",
    "F070: initService again returns the same handle and starts nothing": "D-12/handle",
    "an insecure page is refused with insecure_context, and nothing at all is loaded": "5.6/secure-context",
    "F078: without a snapshot the widget starts from its sources, and says so": "D-17/fallback-reported",
    "all files are asked for at once and from the assets address": "4.8/sdk",
}


@pytest.fixture(scope="module")
def outcomes() -> Mapping[str, str | None]:
    """Map the name of each JavaScript test to its failure message, or to None if the test passed."""
    return outcomes_of(TESTS, SDK=str(SDK))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.contract(SHOWS[name]) if name in SHOWS else ()) for name in NAMES],
)
def test_sdk(outcomes: Mapping[str, str | None], name: str) -> None:
    assert outcomes[name] is None, outcomes[name]


def test_every_test_of_the_script_is_reported(outcomes: Mapping[str, str | None]) -> None:
    assert outcomes.keys() == set(NAMES)
    assert SHOWS.keys() <= set(NAMES)
