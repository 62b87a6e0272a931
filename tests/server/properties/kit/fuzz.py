"""Fuzzing: tries the server's properties in turn for a given time.

    python -m tests.server.properties.kit.fuzz [SECONDS] [--seed NUMBER] [--only PROPERTY]

A failing input is reduced to the smallest one, and printed with the seed that reproduces it.
"""

from __future__ import annotations

import secrets
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Final

import click
from hypothesis.errors import HypothesisWarning
from tests.server.properties.kit.all_properties import IN_PROCESS
from tests.server.properties.kit.properties import ACCEPTED, Property

ROUND: Final = 200
"""How many inputs one property gets before the next property has its turn."""
SHOWN_CHARACTERS: Final = 4000


@click.command
@click.argument("seconds", type=click.FloatRange(min=1), default=60)
@click.option("--seed", type=click.IntRange(min=0), help="Begin with the inputs of this seed.")
@click.option("--only", metavar="PROPERTY", help="Try this property only.")
def main(seconds: float, seed: int | None, only: str | None) -> None:
    """Feed the server's readers unexpected input for SECONDS."""
    first = secrets.randbelow(2**31) if seed is None else seed
    click.echo(f"seed {first}")
    tried = [made for made in IN_PROCESS if only in {None, made.name}]
    if not tried:
        raise click.BadParameter(f"there is no property {only!r}", param_hint="--only")
    outcomes: dict[str, Counter[str]] = {made.name: Counter() for made in tried}
    found = _search(tried, outcomes, first, seconds)
    _report(outcomes)
    if found:
        click.echo(found, err=True)
        sys.exit(1)


def _search(tried: Sequence[Property], outcomes: dict[str, Counter[str]], seed: int, seconds: float) -> str:
    """Try the properties in turn for the given time. Returns a description of the failure, or an empty string."""
    end = time.monotonic() + seconds
    while True:
        for made in tried:
            if time.monotonic() >= end:
                return ""
            try:
                outcomes[made.name] += made.try_out(seed, ROUND)
            except Exception as wrong:  # noqa: BLE001 - whatever is raised is what was looked for
                return _finding(made, seed, wrong)
        seed += 1


def _finding(made: Property, seed: int, wrong: Exception) -> str:
    each = wrong.exceptions if isinstance(wrong, ExceptionGroup) else (wrong,)
    lines = [f"\nFOUND: {made.name!r} does not hold."]
    for one in each:
        lines.append(f"{type(one).__name__}: {one}"[:SHOWN_CHARACTERS])
        lines += [note[:SHOWN_CHARACTERS] for note in getattr(one, "__notes__", ())]
    lines.append(f'Again: nox -s fuzz -- 60 --seed {seed} --only "{made.name}"')
    return "\n".join(lines)


def _report(outcomes: dict[str, Counter[str]]) -> None:
    for name, seen in outcomes.items():
        refused = {code: count for code, count in sorted(seen.items()) if code != ACCEPTED}
        told = ", ".join(f"{code} {count}" for code, count in refused.items())
        click.echo(f"{name:24} {seen.total():7} tried, {seen[ACCEPTED]:6} accepted; {told}")
    click.echo(f"{sum(seen.total() for seen in outcomes.values())} inputs tried")


if __name__ == "__main__":
    warnings.simplefilter("ignore", HypothesisWarning)
    main()
