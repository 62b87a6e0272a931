"""Mutation tests: `tests/mutants/*.toml` break server and widget in one place at a time, and a test must notice each.

    python -m tools.mutants [WORD]

applies each mutant (or those with WORD in file or name) to a copy of its component, never in the checkout, and runs the
test that the mutant names. The command ends with `N killed, M survived`, and the numbers of unfit and untested mutants
if there are any. A mutant is unfit if its place no longer exists, and untested if its test did not finish, which says
nothing about the mutant. All outcomes except killed are failures.
"""

from __future__ import annotations

import compileall
import importlib.util
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

import click
import pytest
from tools.copies import ROOT, copied, run
from tools.patterns import PatternError, Place, Source

LISTS: Final = ROOT / "tests" / "mutants"


class MutantError(Exception):
    """A mutant does not fit the code any more."""


@dataclass(frozen=True)
class Mutant:
    """One place in a file, found with patterns, and the replacement. The head of `server.toml` explains the format."""

    name: str
    file: str
    find: str
    replace: str
    killed_by: str
    within: str = ""
    inside: str = ""
    after: str = ""
    where: str = ""

    @property
    def component(self) -> str:
        """The folder of the component, which is the first part of the file's path."""
        return self.file.partition("/")[0]

    def of(self, text: str) -> str:
        """Return the mutated text. Raises `MutantError` unless the place exists once and the result is valid Python."""
        try:
            mutated = self._replaced(Source(self.file, text))
        except PatternError as wrong:
            raise MutantError(f"{self.name!r}: {wrong}") from None
        if self.file.endswith(".py"):
            try:
                compile(mutated, self.file, "exec", dont_inherit=True)
            except SyntaxError as wrong:
                raise MutantError(f"{self.name!r} is not valid Python: {wrong}") from None
        return mutated

    def _replaced(self, source: Source) -> str:
        place = self._one(self.find, source.places(self.find, within=self.within, inside=self.inside, after=self.after))
        others = [self._one(self.where, source.places(self.where))] if self.where else []
        return source.text[: place.start] + place.filled(self.replace, *others) + source.text[place.end :]

    def _one(self, pattern: str, places: Sequence[Place]) -> Place:
        if len(places) != 1:
            raise MutantError(f"{pattern!r} matches {len(places)} places in {self.file} instead of one")
        return places[0]


class Outcome(StrEnum):
    """The outcome for a mutant. `UNTESTED` says nothing about the mutant, because its test hung, died or never ran."""

    KILLED = "killed"
    SURVIVED = "survived"
    UNFIT = "unfit"
    UNTESTED = "untested"

    @classmethod
    def of(cls, code: int | None) -> Outcome:
        """Return the outcome for pytest's exit code, or for None if there is no exit code."""
        match code:
            case pytest.ExitCode.OK:
                return cls.SURVIVED
            case pytest.ExitCode.TESTS_FAILED:
                return cls.KILLED
            case _:
                return cls.UNTESTED


@dataclass(frozen=True)
class Verdict:
    """A mutant, the outcome, and the output of the mutant's test."""

    mutant: Mutant
    outcome: Outcome
    seconds: float
    output: str


def mutants() -> list[Mutant]:
    """Return all mutants, in the order of the files."""
    lists = [tomllib.loads(file.read_text()) for file in sorted(LISTS.glob("*.toml"))]
    return [_mutant(**entry) for each in lists for entry in each["mutant"]]


def _mutant(*, find: str, replace: str, **entry: str) -> Mutant:
    """Make a mutant from an entry. The key `in` becomes `within`, because `in` is a Python keyword."""
    return Mutant(find=find.strip(), replace=replace.strip(), within=entry.pop("in", ""), **entry)


@click.command
@click.argument("word", default="")
def main(word: str) -> None:
    """Break server and widget in one place at a time, and check that a test notices."""
    chosen = [mutant for mutant in mutants() if word in mutant.file or word in mutant.name]
    if not chosen:
        raise click.BadParameter(f"no mutant has {word!r} in its file or name")
    with ExitStack() as copies, ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        unbroken = {name: copies.enter_context(copied(ROOT / name)) for name in {mutant.component for mutant in chosen}}
        for name, copy in unbroken.items():
            compileall.compile_dir(copy, quiet=1)
            _check_unbroken(copy, sorted({mutant.killed_by for mutant in chosen if mutant.component == name}))
        outcomes = Counter(_outcomes(workers.map(partial(_judge, unbroken), chosen), partial(_judge, unbroken)))
    click.echo(summary(outcomes))
    sys.exit(outcomes[Outcome.KILLED] != len(chosen))


def summary(outcomes: Counter[Outcome]) -> str:
    """Return the numbers of killed and survived mutants, and of other outcomes if there are any."""
    always = (Outcome.KILLED, Outcome.SURVIVED)
    return ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in Outcome if outcome in always or outcomes[outcome])


def _check_unbroken(unbroken: Path, tests: Sequence[str]) -> None:
    """Check that the tests pass without a mutant, because a test that always fails proves nothing."""
    code, output = run(unbroken, tests)
    if code != pytest.ExitCode.OK:
        trouble = "the tests fail" if code == pytest.ExitCode.TESTS_FAILED else "the tests cannot be run"
        raise click.ClickException(f"Without any mutant {trouble}:\n{output}")


def _outcomes(verdicts: Iterable[Verdict], judge: Callable[[Mutant], Verdict]) -> Iterator[Outcome]:
    """Print each verdict. Untested mutants are judged again at the end, with nothing else running."""
    untested = []
    for verdict in verdicts:
        _show(verdict)
        if verdict.outcome is Outcome.UNTESTED:
            untested.append(verdict.mutant)
        else:
            yield verdict.outcome
    for mutant in untested:
        again = judge(mutant)
        _show(again)
        yield again.outcome


def _judge(unbroken: Mapping[str, Path], mutant: Mutant) -> Verdict:
    started = time.monotonic()
    with copied(unbroken[mutant.component]) as copy:
        path = copy.parent / mutant.file
        try:
            path.write_text(mutant.of(path.read_text()))
        except MutantError as gone:
            return Verdict(mutant, Outcome.UNFIT, 0, str(gone))
        Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        code, output = run(copy, [mutant.killed_by])
    return Verdict(mutant, Outcome.of(code), time.monotonic() - started, output)


def _show(verdict: Verdict) -> None:
    mutant = verdict.mutant
    where, test = mutant.file.partition("/")[2], mutant.killed_by.rpartition("::")[2]
    is_killed = verdict.outcome is Outcome.KILLED
    outcome = verdict.outcome if is_killed else verdict.outcome.upper()
    click.echo(f"{outcome:9} {verdict.seconds:4.1f} s  {where:43} {mutant.name}  ({test})")
    if not is_killed:
        click.echo(verdict.output)


if __name__ == "__main__":
    main()
