"""The self-test reads the mutants beside it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from mutant_server import Server


@pytest.fixture(scope="session")
def mutant_server() -> Iterator[Server]:
    """One server for all mutants."""
    with Server() as server:
        yield server
