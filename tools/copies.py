"""A copy of a component, and tests that are run against it in a process of their own."""

from __future__ import annotations

import gc
import importlib.util
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

import click
import pytest

if TYPE_CHECKING:
    from multiprocessing.context import DefaultContext, ForkServerContext

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = {
    "server": ("chatkey_server",),
    "serving": ("chatkey_serving",),
    "widget_sim": ("chatkey_widget", "chatkey_build"),
}
"""The components' folders, and the packages of each: a test imports one at least, and from the copy."""

PATIENCE_SECONDS: Final = 300.0
"""What one test may take on a slow and busy machine. A quiet one needs a second."""

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
    "uvicorn",
    "websockets.sync.client",
]
"""What most tests import: loaded once, in the process that the others are forked from."""


class Ended(NamedTuple):
    """How the tests ended: pytest's exit code, None if they hung or died; and what they wrote."""

    code: int | None
    output: str


@contextmanager
def copied(component: Path) -> Iterator[Path]:
    """Copy a component's folder; the built assets, which are large, are only pointed to."""
    with tempfile.TemporaryDirectory(prefix="chatkey-mutant-") as name:
        copy = Path(name) / component.name
        shutil.copytree(component, copy, ignore=shutil.ignore_patterns("built", "node_modules"))
        built = Path("chatkey_server", "assets", "built")
        if (copy / built).parent.is_dir():
            (copy / built).symlink_to(_installed() / built, target_is_directory=True)
        yield copy


def run(copy: Path, tests: Sequence[str], patience: float = PATIENCE_SECONDS) -> Ended:
    """Run tests against the copy. `patience` is for each of them, in seconds: after it, pytest says where it hangs.

    The code comes in a file: of a process's own exit code, another thread that starts one may be the first to hear.
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
    said = "The tests did not come to an end." if hangs else "The process of the tests died before they ended."
    return Ended(None, f"{log.read_text()}\n{said}")


@cache
def _processes() -> DefaultContext | ForkServerContext:
    """Return the way to start processes that imports once what most tests import, where there is one."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


def _pytest(copy: Path, tests: Sequence[str], log: Path, code: Path, patience: float) -> None:
    """Run pytest on the copy, and leave its code."""
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(ROOT)
    path, database = str(copy), str(copy.parent)
    os.environ |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": database}
    sys.path.insert(0, path)
    sys.dont_write_bytecode = True
    gc.freeze()  # what was preloaded is nobody's garbage
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


def _installed() -> Path:
    """Return the folder of the installed package: in a checkout nothing may be built."""
    spec = importlib.util.find_spec("chatkey_server")
    if spec is None or spec.origin is None:
        raise click.ClickException("chatkey is not installed here.")
    return Path(spec.origin).parents[1]
