"""Mutants of ourselves: `tests/mutants/mutants.toml` breaks the server in one line at a time, and a test must notice.

    python tools/mutants.py [WORD]

applies each mutant (or those with WORD in file or name) to a copy of the server, never in the checkout, and runs the
test it names. It ends with `N killed, M survived`; a survivor is a failure, and so is a line that is no longer there.
"""

from __future__ import annotations

import compileall
import gc
import importlib.util
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[1]
SERVER: Final = ROOT / "server"
LIST: Final = ROOT / "tests" / "mutants" / "mutants.toml"
LONGEST_SECONDS: Final = 120.0
PRELOADED: Final = [
    "_hypothesis_pytestplugin",
    "anyio.pytest_plugin",
    "asyncpg",
    "black",
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

RAN: Final = 64
"""Added to pytest's exit code: a process that fails on its own has another."""


class MutantError(Exception):
    """A mutant that does not fit the code any more."""


@dataclass(frozen=True)
class Mutant:
    """One line of a file of the server, stripped of its indentation, and what stands there instead."""

    name: str
    file: str
    find: str
    replace: str
    killed_by: str

    def of(self, text: str) -> str:
        """Return the mutated text. Raises `MutantError` unless the line is there once and the result is Python."""
        lines = text.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.strip() == self.find]
        if len(places) != 1:
            raise MutantError(f"{self.file} has {len(places)} lines that are {self.find!r}")
        line = lines[places[0]]
        lines[places[0]] = line.replace(self.find, self.replace)
        mutated = "".join(lines)
        try:
            compile(mutated, self.file, "exec", dont_inherit=True)
        except SyntaxError as wrong:
            raise MutantError(f"{self.name!r} is no Python: {wrong}") from None
        return mutated


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    outcome: str
    seconds: float
    output: str


def mutants() -> list[Mutant]:
    """Return all of them, in the order of the file."""
    return [Mutant(**entry) for entry in tomllib.loads(LIST.read_text())["mutant"]]


@click.command
@click.argument("word", default="")
def main(word: str) -> None:
    """Break the server in one line at a time, and see that its test notices."""
    chosen = [mutant for mutant in mutants() if word in mutant.file or word in mutant.name]
    if not chosen:
        raise click.BadParameter(f"there is no mutant with {word!r} in file or name")
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("forkserver")
        multiprocessing.set_forkserver_preload(PRELOADED)
    with _copy(SERVER) as unbroken, ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        compileall.compile_dir(unbroken, quiet=1)
        _check_unbroken(unbroken, sorted({mutant.killed_by for mutant in chosen}))
        verdicts = []
        for verdict in workers.map(partial(_judge, unbroken), chosen):
            _show(verdict)
            verdicts.append(verdict)
    killed = sum(verdict.outcome == "killed" for verdict in verdicts)
    click.echo(f"{killed} killed, {len(verdicts) - killed} survived")
    sys.exit(killed != len(verdicts))


def _check_unbroken(unbroken: Path, tests: Sequence[str]) -> None:
    """A test that fails anyway kills nothing."""
    code, output = _run(unbroken.parent, tests)
    if code != RAN:
        raise click.ClickException(f"Without any mutant the tests fail:\n{output}")


def _judge(unbroken: Path, mutant: Mutant) -> Verdict:
    started = time.monotonic()
    with _copy(unbroken) as server:
        path = server.parent / mutant.file
        try:
            path.write_text(mutant.of(path.read_text()))
        except MutantError as gone:
            return Verdict(mutant, "UNFIT", 0, str(gone))
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        code, output = _run(server.parent, [mutant.killed_by])
    outcome = {RAN: "SURVIVED", RAN + 1: "killed", None: "HUNG"}.get(code, "UNTESTED")
    return Verdict(mutant, outcome, time.monotonic() - started, output)


def _show(verdict: Verdict) -> None:
    mutant = verdict.mutant
    where, test = mutant.file.removeprefix("server/chatkey_server/"), mutant.killed_by.rpartition("::")[2]
    click.echo(f"{verdict.outcome:9} {verdict.seconds:4.1f} s  {where:26} {mutant.name}  ({test})")
    if verdict.outcome != "killed":
        click.echo(verdict.output)


@contextmanager
def _copy(server: Path) -> Iterator[Path]:
    """Copy the server's folder; the built assets, which are large, are only pointed to."""
    with tempfile.TemporaryDirectory(prefix="chatkey-mutant-") as name:
        copy = Path(name) / "server"
        shutil.copytree(server, copy, ignore=shutil.ignore_patterns("built"))
        built = Path("chatkey_server", "assets", "built")
        (copy / built).symlink_to(_installed() / built, target_is_directory=True)
        yield copy


def _installed() -> Path:
    """Return the folder of the installed package: in a checkout nothing may be built."""
    spec = importlib.util.find_spec("chatkey_server")
    if spec is None or spec.origin is None:
        raise click.ClickException("chatkey is not installed here.")
    return Path(spec.origin).parents[1]


def _run(folder: Path, tests: Sequence[str]) -> tuple[int | None, str]:
    """Run tests against the copy in a process of their own; the code is `RAN` and pytest's, None for one that hung."""
    log = folder / "output.txt"
    log.touch()
    process = multiprocessing.Process(target=_pytest, args=(folder, tests, log))
    process.start()
    process.join(LONGEST_SECONDS + len(tests))
    if process.exitcode is None:
        process.kill()
        process.join()
        return None, log.read_text()
    return process.exitcode, log.read_text()


def _pytest(folder: Path, tests: Sequence[str], log: Path) -> None:
    """Run pytest on the copy, and exit with `RAN` and its code."""
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(ROOT)
    copy = str(folder / "server")
    os.environ |= {"PYTHONPATH": copy, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": str(folder)}
    sys.path.insert(0, copy)
    sys.dont_write_bytecode = True
    import pytest  # noqa: PLC0415 - in the child, which is forked before it

    gc.freeze()  # what was preloaded is nobody's garbage
    options = ("-x", "-q", "--no-header", "--tb=short", "--assert=plain", "-p", "no:cacheprovider")
    code = pytest.main([*options, f"--basetemp={folder / 'tmp'}", *tests])
    server = sys.modules.get("chatkey_server")
    if server is None or not str(server.__file__).startswith(copy):
        sys.stderr.write(f"the tests did not run the copy in {copy}\n")
        code = pytest.ExitCode.INTERNAL_ERROR
    sys.exit(RAN + code)


if __name__ == "__main__":
    main()
