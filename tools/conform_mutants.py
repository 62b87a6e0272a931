"""Runs mutants of the server as targets of `chatkey conform`, which must name a broken sentence for each mutant.

    python -m tools.conform_mutants [WORD …] [--every N] [--from N] [--family KEY …] [--near]

runs the mutants of `tests/mutants/server.toml` with one of the words in file or name, one after another. Each mutant
runs as a separate service that the suite knows only through its lab. The command prints a table, and the number of
named mutants at the end. With `--near`, only the families that test the mutated file are run, in a quarter of the time.
Mutants that cannot be seen from outside are left out, unless a word is the whole name of one.
`tests/conform/hidden.toml` lists these mutants with reasons.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import click
from tools.mutants import ROOT, Mutant, MutantError, copied, mutants

from chatkey_conform.case import Case
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.outcome import Result
from chatkey_conform.running.runner import Run
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.target import read_target
from chatkey_stack.ports import free_ports
from chatkey_stack.process import Process

SERVER: Final = "server"
HIDDEN: Final = ROOT / "tests" / "conform" / "hidden.toml"
NEAR: Final[Mapping[str, tuple[str, ...]]] = {
    "identity/call_proofs": ("calls",),
    "identity/fingerprints": ("calls",),
    "identity/oauth_state": ("start", "callback"),
    "identity/origins": ("start", "opening"),
    "identity/proofs": ("proofs",),
    "identity/keys": ("proofs", "tokens", "http", "exchange"),
    "identity/encoding": ("tokens", "proofs", "opening"),
    "identity/social_uid": ("tokens",),
    "identity/": ("tokens", "visitors", "exchange"),
    "public/member_token": ("exchange", "http"),
    "public/visitor_token": ("visitors", "http"),
    "public/parameters": ("http", "start", "callback"),
    "public/paths": ("http", "paths"),
    "public/": ("start", "callback"),
    "storage/oauth_flows": ("start", "callback"),
    "socket/calling": ("calls",),
    "socket/": ("opening", "staying", "proofs", "chat", "rates"),
    "peers/": ("opening", "frames", "chat", "rates"),
    "chat/calls": ("calls", "chat"),
    "chat/": ("chat",),
    "panel/answering": ("calls",),
    "limits/": ("rates", "http"),
}
"""The families that test a file of the server. The first key that the file's path starts with applies."""
SHOWN: Final = 3

TARGET: Final = """\
[target]
name = "chatkey"
base_url = "http://localhost:{port}"
[businesses]
grade = "lab"
url = "http://localhost:{port}/lab"
[limits]
token_rate = 0
oauth_rate = 0
"""


@contextmanager
def served(copy: Path | None, folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[Path]:
    """Run a server, from a copy or this checkout, and yield a TARGET.toml that describes it with its lab."""
    (port,) = free_ports(1)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
    environ |= {
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "CHATKEY_DATA_DIR": str(folder / "data"),
        "CHATKEY_PORT": str(port),
        "CHATKEY_BASE_URL": f"http://localhost:{port}",
        "CHATKEY_LAB": "1",
        "CHATKEY_LIMIT_TOKEN_RATE": "0",
        "CHATKEY_LIMIT_OAUTH_RATE": "0",
        **({"PYTHONPATH": str(copy / SERVER)} if copy else {}),
        **(settings or {}),
    }
    target = folder / "target.toml"
    target.write_text(TARGET.format(port=port))
    command = (sys.executable, "-m", "chatkey", "serve")
    with Process("service", command, environ=environ, log=folder / "service.log"):
        yield target


def judged(target: Path, chosen: Sequence[Case]) -> Result:
    """Judge a target with the chosen cases."""
    with closing(World(read_target(target))) as world:
        return Run(world).judge(chosen)


def families(keys: Sequence[str]) -> list[Case]:
    """Return the cases of these families and the smoke cases, or all cases if no family is named."""
    return [case for case in cases() if not keys or case.id.partition("/")[0] in {"smoke", *keys}]


@click.command
@click.argument("words", nargs=-1)
@click.option("--every", default=1, help="Run only every Nth mutant.")
@click.option("--from", "first", default=0, help="Number of the first mutant to run.")
@click.option("--family", "keys", multiple=True, help="Run only cases of this family. Repeatable.")
@click.option("--near", is_flag=True, help="Run only cases of the families that test the mutated file.")
def main(*, words: tuple[str, ...], every: int, first: int, keys: tuple[str, ...], near: bool) -> None:
    """Run mutants of the server as targets."""
    seen = [mutant for mutant in mutants() if mutant.component == SERVER and _is_meant(mutant, words)]
    chosen = seen[first::every]
    named = sum(_show(mutant, families(near_to(mutant) if near else keys)) for mutant in chosen)
    click.echo(f"{named} of {len(chosen)} mutants were detected")


def hidden() -> dict[str, str]:
    """Return the mutants that cannot be seen over the wire, each with its reason."""
    entries = tomllib.loads(HIDDEN.read_text("utf-8"))["hidden"]
    return {name: entry["reason"] for entry in entries for name in entry["names"]}


def near_to(mutant: Mutant) -> tuple[str, ...]:
    """Return the families that test the file of a mutant. If `NEAR` has no entry for the file, return none.

    No family means that all families are run.
    """
    path = mutant.file.removeprefix("server/chatkey_server/")
    return next((keys for start, keys in NEAR.items() if path.startswith(start)), ())


def _is_meant(mutant: Mutant, words: Sequence[str]) -> bool:
    if mutant.name in words:
        return True
    is_asked_for = not words or any(word in mutant.file or word in mutant.name for word in words)
    return is_asked_for and mutant.name not in hidden()


def _show(mutant: Mutant, chosen: Sequence[Case]) -> bool:
    begun = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as folder, copied(mutant) as copy, served(copy, Path(folder)) as target:
            result = judged(target, chosen)
    except MutantError as gone:
        click.echo(f"UNFIT   {mutant.name}: {gone}")
        return False
    except Exception as error:  # noqa: BLE001 - a server that does not start is a mutant that says so itself
        click.echo(f"DIED    {mutant.name}: {type(error).__name__}: {str(error)[-200:]}")
        return False
    failed, errors = result.of(Verdict.FAILED), len(result.of(Verdict.ERROR))
    sentences = " ".join(sentence.id for sentence in result.failed[:SHOWN])
    groups = sorted({outcome.case.group for outcome in failed})
    seconds = time.monotonic() - begun
    click.echo(
        f"{'found' if failed else 'MISSED':7} {seconds:4.0f} s  {mutant.name}  {len(failed)} cases  {sentences}"
        f"  [{', '.join(groups)}]{f'  {errors} harness errors' if errors else ''}"
    )
    return bool(failed)


if __name__ == "__main__":
    main()
