"""One process of our own server for the tests of the suite."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from tests.conform.served import Served

from chatkey_stack.ports import free_ports
from chatkey_stack.process import Process

collect_ignore = ["project"]  # a separate pytest runs it


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Our own service with its lab and without rate limits."""
    folder = tmp_path_factory.mktemp("conform")
    (port,) = free_ports(1)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {
        "PYTHONUNBUFFERED": "1",
        "CHATKEY_DATA_DIR": str(folder / "data"),
        "CHATKEY_PORT": str(port),
        "CHATKEY_BASE_URL": f"http://localhost:{port}",
        "CHATKEY_LAB": "1",
        "CHATKEY_LIMIT_TOKEN_RATE": "0",
        "CHATKEY_LIMIT_OAUTH_RATE": "0",
    }
    command = (sys.executable, "-m", "chatkey", "serve")
    with Process("service", command, environ=environ, log=folder / "service.log"):
        made = Served(f"http://localhost:{port}", folder)
        os.environ["ADAPTER_LAB"] = made.lab
        yield made
