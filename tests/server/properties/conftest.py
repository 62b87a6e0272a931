"""Fixtures for the property tests. The properties are in `kit`, because the nox session `fuzz` uses them too."""

from collections.abc import Iterator

import pytest
from tests.server.properties.kit.served import Served, serving


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running
