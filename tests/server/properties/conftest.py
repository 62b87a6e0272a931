"""The properties lie in `kit`, where the fuzz session finds them too."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "kit"))

from served import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server as it is shipped, in a process of its own."""
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running
