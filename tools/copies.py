"""Copies a component, and runs tests against the copy in a separate process."""

from __future__ import annotations

import gc
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

if TYPE_CHECKING:
    from multiprocessing.context import DefaultContext, ForkServerContext

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = {
    "server": ("chatkey", "chatkey_server", "chatkey_serving", "chatkey_lab"),
    "widget_sim": ("chatkey_widget", "chatkey_build"),
}
"""The packages in each component's folder. A test must import at least one of them, from the copy."""

PATIENCE_SECONDS: Final = 300.0
"""Timeout for one test on a slow and busy machine. On an idle machine, a test takes a second."""

_PRELOADED: Final = [
    "_hypothesis_pytestplugin",
    "anyio.pytest_plugin",
    "asyncpg",
    "ast_grep_py",
    "black",
    "click",
    "cryptography.fernet",
    "httpx",
    "hypothesis",
    "jinja2",
    "joserfc.jwk",
    "jwt",
    "litestar.channels",
    "litestar.middleware.session.client_side",
    "litestar.openapi.plugins",
    "litestar.plugins.pydantic",
    "piccolo.apps.migrations.tables",
    "piccolo.engine.postgres",
    "piccolo.engine.sqlite",
    "piccolo_admin.endpoints",
    "pytest",
    "pytest_asyncio.plugin",
    "respx.plugin",
    "structlog",
    "httptools",
    "websockets.sync.client",
]
"""Modules that most tests import. They are loaded once, in the process from which the others are forked."""


class Ended(NamedTuple):
    """The outcome of tests: pytest's exit code (None if pytest hung or died), and the output."""

    code: int | None
    output: str


@contextmanager
def copied(component: Path) -> Iterator[Path]:
    """Copy the folder of a component. The installed `chatkey_assets` serves the copy, too."""
    with tempfile.TemporaryDirectory(prefix="chatkey-mutant-") as name:
        copy = Path(name) / component.name
        shutil.copytree(component, copy, ignore=shutil.ignore_patterns("chatkey_assets", "node_modules"))
        yield copy


def run(copy: Path, tests: Sequence[str], patience: float = PATIENCE_SECONDS) -> Ended:
    """Run tests against the copy.

    If one test takes longer than `patience` seconds, pytest reports where it hangs and stops. The exit code is read
    from a file, because another thread that starts a process could collect the exit code of this process.
    """
    log, code = copy.parent / "output.txt", copy.parent / "code.txt"
    log.touch()
    process = _processes().Process(target=_pytest, args=(copy, tests, log, code, patience))
    process.start()
    process.join(PATIENCE_SECONDS + patience * len(tests))
    hangs = process.is_alive()
    process.kill()
    process.join()
    if code.exists():
        return Ended(int(code.read_text()), log.read_text())
    said = "The tests did not end in time." if hangs else "The test process died before the tests ended."
    return Ended(None, f"{log.read_text()}\n{said}")


@cache
def _processes() -> DefaultContext | ForkServerContext:
    """Return a way to start processes. With forkserver, common imports are loaded only once."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _pytest(copy: Path, tests: Sequence[str], log: Path, code: Path, patience: float) -> None:
    """Run pytest on the copy, and write the exit code to a file."""
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(ROOT)
    path, database = str(copy), str(copy.parent)
    os.environ |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": database}
    sys.path.insert(0, path)
    sys.dont_write_bytecode = True
    gc.freeze()  # exempts the preloaded modules from garbage collection
    options = ("-x", "-q", "--no-header", "--tb=short", "--assert=plain", "-p", "no:cacheprovider")
    limits = ("-o", f"faulthandler_timeout={patience}", "-o", "faulthandler_exit_on_timeout=true")
    ended = pytest.main([*options, *limits, f"--basetemp={copy.parent / 'tmp'}", *tests])
    imported = [sys.modules[name] for name in PACKAGES[copy.name] if name in sys.modules]
    if not imported or not all(str(package.__file__).startswith(path) for package in imported):
        sys.stderr.write(f"the tests did not run the copy in {path}\n")
        ended = pytest.ExitCode.INTERNAL_ERROR
    whole = code.with_suffix(".part")
    whole.write_text(str(int(ended)))
    whole.rename(code)
