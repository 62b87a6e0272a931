"""The server for the checker's self-test."""

from collections.abc import Iterator

import pytest
from tests.check.mutants.mutant_server import Server


@pytest.fixture(scope="session")
def mutant_server() -> Iterator[Server]:
    with Server() as server:
        yield server
