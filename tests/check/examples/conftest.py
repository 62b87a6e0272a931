"""Fixtures that start each reference backend once per module."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from tests.check.examples.kit.reference_backends import Backend, Unavailable, examples, printed, running

StartBackend = Callable[[str], Backend]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[StartBackend]:
    """Return a function that starts a backend by name: one of the README, or the site that the page prints.

    If this machine cannot run the backend, the function skips the test.
    """
    by_name = {example.name: example for example in [*examples(), printed(tmp_path_factory.mktemp("printed"))]}
    node_modules = (
        pytestconfig.cache.mkdir("chatkey-examples") if pytestconfig.cache else tmp_path_factory.mktemp("npm")
    )
    with ExitStack() as ending:

        @cache
        def started(name: str) -> Backend:
            log = tmp_path_factory.mktemp("backend") / "output.log"
            try:
                return ending.enter_context(running(by_name[name], log=log, cache=node_modules))
            except Unavailable as missing:
                pytest.skip(str(missing))

        yield started
