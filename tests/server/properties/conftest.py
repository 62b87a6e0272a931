"""The properties are in `kit`, where the fuzz session finds them as well."""

from collections.abc import Iterator

import pytest
from tests.server.properties.kit.served import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The shipped server in a process of its own."""
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running
