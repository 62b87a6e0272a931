"""Mutants of ourselves: `tests/mutants/*.toml` break server and widget in one line at a time; a test must notice each.

    python tools/mutants.py [WORD]

applies each mutant (or those with WORD in file or name) to a copy of its component, never in the checkout, and runs the
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[1]
LISTS: Final = ROOT / "tests" / "mutants"
PACKAGES: Final = {
    "server": ("chatkey_server",),
    "serving": ("chatkey_serving",),
    "widget_sim": ("chatkey_widget", "chatkey_build"),
}
"""The components' folders, and the packages of each: a test imports one at least, and from the copy."""

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


class MutantError(Exception):
    """A mutant that does not fit the code any more."""


@dataclass(frozen=True)
class Mutant:
    """One line of a file, stripped of its indentation, and what stands there instead."""

    name: str
    file: str
    find: str
    replace: str
    killed_by: str

    @property
    def component(self) -> str:
        """The folder that is copied, by the file's path."""
        return self.file.partition("/")[0]

    def of(self, text: str) -> str:
        """Return the mutated text. Raises `MutantError` unless the line is there once and Python stays Python."""
        lines = text.splitlines(keepends=True)
        places = [number for number, line in enumerate(lines) if line.strip() == self.find]
        if len(places) != 1:
            raise MutantError(f"{self.file} has {len(places)} lines that are {self.find!r}")
        line = lines[places[0]]
        lines[places[0]] = line.replace(self.find, self.replace)
        mutated = "".join(lines)
        if self.file.endswith(".py"):
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
    """Return all of them, in the order of the files."""
    lists = [tomllib.loads(file.read_text()) for file in sorted(LISTS.glob("*.toml"))]
    return [Mutant(**entry) for each in lists for entry in each["mutant"]]


@click.command
@click.argument("word", default="")
def main(word: str) -> None:
    """Break server and widget in one line at a time, and see that a test notices."""
    chosen = [mutant for mutant in mutants() if word in mutant.file or word in mutant.name]
    if not chosen:
        raise click.BadParameter(f"there is no mutant with {word!r} in file or name")
    if "forkserver" in multiprocessing.get_all_start_methods():
        multiprocessing.set_start_method("forkserver")
        multiprocessing.set_forkserver_preload(PRELOADED)
    with ExitStack() as copies, ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        unbroken = {name: copies.enter_context(_copy(ROOT / name)) for name in {mutant.component for mutant in chosen}}
        for name, copy in unbroken.items():
            compileall.compile_dir(copy, quiet=1)
            _check_unbroken(copy, sorted({mutant.killed_by for mutant in chosen if mutant.component == name}))
        verdicts = []
        for verdict in workers.map(partial(_judge, unbroken), chosen):
            _show(verdict)
            verdicts.append(verdict)
    killed = sum(verdict.outcome == "killed" for verdict in verdicts)
    click.echo(f"{killed} killed, {len(verdicts) - killed} survived")
    sys.exit(killed != len(verdicts))


def _check_unbroken(unbroken: Path, tests: Sequence[str]) -> None:
    """A test that fails anyway kills nothing."""
    code, output = _run(unbroken, tests)
    if code != 0:
        raise click.ClickException(f"Without any mutant the tests fail:\n{output}")


def _judge(unbroken: Mapping[str, Path], mutant: Mutant) -> Verdict:
    started = time.monotonic()
    with _copy(unbroken[mutant.component]) as copy:
        path = copy.parent / mutant.file
        try:
            path.write_text(mutant.of(path.read_text()))
        except MutantError as gone:
            return Verdict(mutant, "UNFIT", 0, str(gone))
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        code, output = _run(copy, [mutant.killed_by])
    outcome = {0: "SURVIVED", 1: "killed", None: "HUNG"}.get(code, "UNTESTED")
    return Verdict(mutant, outcome, time.monotonic() - started, output)


def _show(verdict: Verdict) -> None:
    mutant = verdict.mutant
    where, test = mutant.file.partition("/")[2], mutant.killed_by.rpartition("::")[2]
    click.echo(f"{verdict.outcome:9} {verdict.seconds:4.1f} s  {where:43} {mutant.name}  ({test})")
    if verdict.outcome != "killed":
        click.echo(verdict.output)


@contextmanager
def _copy(component: Path) -> Iterator[Path]:
    """Copy a component's folder; the built assets, which are large, are only pointed to."""
    with tempfile.TemporaryDirectory(prefix="chatkey-mutant-") as name:
        copy = Path(name) / component.name
        shutil.copytree(component, copy, ignore=shutil.ignore_patterns("built", "node_modules"))
        built = Path("chatkey_server", "assets", "built")
        if (copy / built).parent.is_dir():
            (copy / built).symlink_to(_installed() / built, target_is_directory=True)
        yield copy


def _installed() -> Path:
    """Return the folder of the installed package: in a checkout nothing may be built."""
    spec = importlib.util.find_spec("chatkey_server")
    if spec is None or spec.origin is None:
        raise click.ClickException("chatkey is not installed here.")
    return Path(spec.origin).parents[1]


def _run(copy: Path, tests: Sequence[str]) -> tuple[int | None, str]:
    """Run tests against the copy in a process of their own; the code is pytest's, None if it hung or died.

    The code comes in a file: of a process's own exit code, another thread that starts one may be the first to hear.
    """
    log, ended = copy.parent / "output.txt", copy.parent / "code.txt"
    log.touch()
    process = multiprocessing.Process(target=_pytest, args=(copy, tests, log))
    process.start()
    process.join(LONGEST_SECONDS + len(tests))
    process.kill()
    process.join()
    return int(ended.read_text()) if ended.exists() else None, log.read_text()


def _pytest(copy: Path, tests: Sequence[str], log: Path) -> None:
    """Run pytest on the copy, and leave its code."""
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(ROOT)
    path, database = str(copy), str(copy.parent)
    os.environ |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", "HYPOTHESIS_STORAGE_DIRECTORY": database}
    sys.path.insert(0, path)
    sys.dont_write_bytecode = True
    import pytest  # noqa: PLC0415 - in the child, which is forked before it

    gc.freeze()  # what was preloaded is nobody's garbage
    options = ("-x", "-q", "--no-header", "--tb=short", "--assert=plain", "-p", "no:cacheprovider")
    code = pytest.main([*options, f"--basetemp={copy.parent / 'tmp'}", *tests])
    imported = [sys.modules[name] for name in PACKAGES[copy.name] if name in sys.modules]
    if not imported or not all(str(package.__file__).startswith(path) for package in imported):
        sys.stderr.write(f"the tests did not run the copy in {path}\n")
        code = pytest.ExitCode.INTERNAL_ERROR
    (copy.parent / "code.txt").write_text(str(int(code)))


if __name__ == "__main__":
    main()
