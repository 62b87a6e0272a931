"""The server for the self-test, which checks the mutants in this folder."""

from collections.abc import Iterator

import pytest
from tests.check.mutants.mutant_server import Server


@pytest.fixture(scope="session")
def mutant_server() -> Iterator[Server]:
    """One server for all mutants."""
    with Server() as server:
        yield server
