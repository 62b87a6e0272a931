"""A pytest plugin that measures which test runs which line, in this process and in the servers that tests start.

`LINES` is the path of the data files. The lines of a test are those that run while it is called, without its fixtures.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import defaultdict
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from coverage import Coverage, CoverageData

VARIABLE: Final = "LINES"
PACKAGES: Final = ["*/chatkey_server/*", "*/chatkey_widget/*"]
MEASURED: Final = Path(__file__).with_name("measured")

Lines = dict[int, set[str]]
"""The tests that run each line of a file."""


class Measuring:
    """The coverage of this process, and a connection to each server, which measures its own."""

    def __init__(self, data: str) -> None:
        self._coverage = Coverage(data_file=data, data_suffix=True, include=PACKAGES, config_file=False)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(Path(data).with_name("socket")))
        self._listener.listen()
        self._servers: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        self._coverage.start()

    def _accept(self) -> None:
        while True:
            self._servers.append(self._listener.accept()[0])

    def _switch(self, name: str) -> None:
        self._coverage.switch_context(name)
        for server in tuple(self._servers):
            with suppress(ConnectionError):  # of a server that has ended
                server.sendall(f"{name}\n".encode())
                server.recv(1)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        self._switch(item.nodeid)
        try:
            return (yield)
        finally:
            self._switch("")

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    if data := os.environ.get(VARIABLE):
        os.environ["PYTHONPATH"] = os.pathsep.join([str(MEASURED), os.environ["PYTHONPATH"]])
        config.pluginmanager.register(Measuring(data))


def read(data: Path, root: Path) -> dict[str, Lines]:
    """Return the lines of each file, by its path from `root`."""
    files: dict[str, Lines] = defaultdict(lambda: defaultdict(set))
    for each in data.parent.glob(f"{data.name}.*"):
        measured = CoverageData(str(each))
        measured.read()
        for file in measured.measured_files():
            lines = files[str(Path(file).relative_to(root))]
            for line, tests in measured.contexts_by_lineno(file).items():
                lines[line].update(filter(None, tests))
    return files
