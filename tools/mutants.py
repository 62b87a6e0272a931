"""Breaks server and widget in one place at a time with the mutants in `tests/mutants/*.toml`. A test must notice each.

    python -m tools.mutants [WORD]

applies each mutant (or those with WORD in file or name) to a copy of its component, never in the checkout, and runs the
test that the mutant names, which must fail. The command ends with the numbers of outcomes, for example `146 killed`.
A mutant is untested if its place no longer exists, or if its test could not be run.
"""

from __future__ import annotations

import compileall
import gc
import os
import shutil
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

import click
import pytest

ROOT: Final = Path(__file__).parents[1]
LISTS: Final = ROOT / "tests" / "mutants"
COMPONENTS: Final = ("server", "widget_sim")
KILLED: Final = "killed"
OUTCOMES: Final[dict[int, str]] = {pytest.ExitCode.TESTS_FAILED: KILLED, pytest.ExitCode.OK: "survived"}
"""The outcome of a mutant for each exit code of pytest. With any other code, its test did not run."""

_PRELOADED: Final = (
    "_hypothesis_pytestplugin",
    "anyio.pytest_plugin",
    "cryptography.fernet",
    "httpx",
    "hypothesis",
    "jinja2",
    "joserfc.jwk",
    "litestar.channels",
    "litestar.middleware.session.client_side",
    "litestar.openapi.plugins",
    "litestar.plugins.pydantic",
    "piccolo.engine.postgres",
    "piccolo.engine.sqlite",
    "piccolo_admin.endpoints",
    "pytest_asyncio.plugin",
    "respx.plugin",
    "structlog",
    "websockets.sync.client",
)
"""Modules that most tests import. They are loaded once, in the process from which the others are forked."""


class MutantError(click.ClickException):
    """A mutant does not fit the code any more."""


@dataclass(frozen=True)
class Mutant:
    """One place in a file, and the replacement. The head of `server.toml` explains the format."""

    file: str
    name: str
    old: str
    new: str
    killed_by: str

    @property
    def component(self) -> str:
        """The folder of the component, which is the first part of the file's path."""
        return self.file.partition("/")[0]

    def of(self, text: str) -> str:
        """Return the mutated text. Raises `MutantError` unless the place exists once and the result is valid Python."""
        if (places := text.count(self.old)) != 1:
            raise MutantError(f"{self.name!r}: {self.old!r} is in {self.file} {places} times instead of once")
        mutated = text.replace(self.old, self.new)
        if self.file.endswith(".py"):
            try:
                compile(mutated, self.file, "exec", dont_inherit=True)
            except SyntaxError as wrong:
                raise MutantError(f"{self.name!r} is not valid Python: {wrong}") from None
        return mutated


def mutants() -> list[Mutant]:
    """Return all mutants, in the order of the files."""
    lists = [tomllib.loads(file.read_text("utf-8")) for file in sorted(LISTS.glob("*.toml"))]
    return [Mutant(file, **row) for each in lists for file, rows in each.items() for row in rows]


def copy(components: Iterable[str], to: Path) -> None:
    """Copy components into a folder. The installed `chatkey_assets` serves the copies, too."""
    for component in components:
        left_out = shutil.ignore_patterns("chatkey_assets", "node_modules")
        shutil.copytree(ROOT / component, to / component, ignore=left_out)


@contextmanager
def copied(mutant: Mutant | None = None) -> Iterator[Path]:
    """Yield a temporary folder with a copy of the mutant's component that contains the mutant. Raises `MutantError`.

    Without a mutant, copy both components.
    """
    with tempfile.TemporaryDirectory(prefix="chatkey-mutant-") as name:
        folder = Path(name)
        copy([mutant.component] if mutant else COMPONENTS, folder)
        if mutant:
            path = folder / mutant.file
            path.write_text(mutant.of(path.read_text("utf-8")), "utf-8")
            Path(cache_from_source(str(path))).unlink(missing_ok=True)  # it may have the same second and size
        yield folder


def run(mutant: Mutant | None, tests: Sequence[str], log: Path) -> int:
    """Run the tests on a copy, in this process. Write their output to `log`, and return pytest's exit code."""
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    with copied(mutant) as folder:
        paths = [str(folder / component) for component in COMPONENTS]
        os.environ |= {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder)
        for module in [name for name in sys.modules if name.startswith("chatkey")]:
            del sys.modules[module]  # it may come from another folder than the copy
        sys.path[:0] = paths
        sys.dont_write_bytecode = True
        options = ("-x", "-q", "--no-header", "--tb=short", "--assert=plain", "-p", "no:cacheprovider")
        return pytest.main([*options, f"--basetemp={folder / 'tmp'}", *tests])


@click.command
@click.argument("word", default="")
def main(word: str) -> None:
    """Break server and widget in one place at a time, and check that a test notices."""
    chosen = [mutant for mutant in mutants() if word in mutant.file or word in mutant.name]
    if not chosen:
        raise click.BadParameter(f"no mutant has {word!r} in its file or name")
    for component in COMPONENTS:
        compileall.compile_dir(ROOT / component, quiet=1)
    for module in _PRELOADED:
        import_module(module)
    gc.freeze()  # exempts the preloaded modules from garbage collection
    with tempfile.TemporaryDirectory(prefix="chatkey-mutants-") as logs:
        counts = Counter(outcomes(chosen, Path(logs)))
    click.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(counts.keys() != {KILLED})


def outcomes(chosen: Sequence[Mutant], logs: Path) -> Iterator[str]:
    """Yield the outcome of each mutant's test. As many tests run at once as there are CPUs.

    Before, run all these tests without a mutant, because a test that always fails proves nothing.
    """
    waiting: list[Mutant | None] = [*reversed(chosen), None]
    running: dict[int, tuple[Mutant | None, float]] = {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            mutant = waiting.pop()
            tests = [mutant.killed_by] if mutant else sorted({each.killed_by for each in chosen})
            running[_fork(mutant, tests, logs)] = mutant, time.monotonic()
        child, status = os.wait()
        mutant, begun = running.pop(child)
        code, output = os.waitstatus_to_exitcode(status), (logs / f"{child}").read_text("utf-8")
        if mutant:
            outcome = OUTCOMES.get(code, "untested")
            _show(mutant, outcome, time.monotonic() - begun, output)
            yield outcome
        elif code != pytest.ExitCode.OK:
            raise click.ClickException(f"Without a mutant, the tests do not pass:\n{output}")


def _fork(mutant: Mutant | None, tests: Sequence[str], logs: Path) -> int:
    """Run the tests in a forked process, and return its id, which is also the name of the file with the output."""
    child = os.fork()
    if not child:
        try:
            code = run(mutant, tests, logs / f"{os.getpid()}")
        except BaseException:  # noqa: BLE001 - whatever it is, the child must end here
            traceback.print_exc()
            code = pytest.ExitCode.INTERNAL_ERROR
        os._exit(code)
    return child


def _show(mutant: Mutant, outcome: str, seconds: float, output: str) -> None:
    where, test = mutant.file.partition("/")[2], mutant.killed_by.rpartition("::")[2]
    click.echo(f"{outcome:9} {seconds:4.1f} s  {where:43} {mutant.name}  ({test})")
    if outcome != KILLED:
        click.echo(output)


if __name__ == "__main__":
    main()
