"""The rule for migrations: which PostgreSQL statements are safe while the previous release uses the database."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from chatkey_server.storage.engine import build
from chatkey_server.storage.migrate import Step
from chatkey_server.storage.schema_changes import Backfill, Definitions, Index

POSTGRES: Final = build("postgresql://nobody@localhost/never-opened")
MEMBERS: Final = {"ID", "DESCRIPTION", "CHANGE"}
ID: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d:\d{6}"

CONSTANT: Final = r"(null|true|false|-?\d[\d.]*|'[^']*')"
NEW_COLUMN: Final = rf"ADD COLUMN \w+ [A-Z]+(\(\d+\))?( REFERENCES \w+ \(\w+\)[A-Z ]*)?( NOT NULL)? DEFAULT {CONSTANT}"
ALLOWED: Final = (
    r"CREATE TABLE .*",
    r"CREATE (OR REPLACE )?(VIEW|FUNCTION|TRIGGER) .*",
    rf"ALTER TABLE \w+ {NEW_COLUMN}",
    rf"ALTER TABLE \w+ ALTER COLUMN \w+ (DROP NOT NULL|SET DEFAULT {CONSTANT})",
)
"""The statements that a migration's definitions may run on tables that already have rows."""
REMOVALS: Final = (
    r"ALTER TABLE \w+ DROP COLUMN \w+",
    r"DROP (TABLE|VIEW|FUNCTION|TRIGGER) \w+.*",
    r"ALTER TABLE \w+ ADD CONSTRAINT \w+ .* NOT VALID",
)
"""Statements that break servers which still use the removed thing. They must come at least one release later."""
ON_NEW_TABLES: Final = r"CREATE (?:UNIQUE )?INDEX \w+ ON (\w+) .*"


def breaches(step: Step, releases: Collection[str]) -> list[str]:
    """Describe each fault of a migration in a sentence. `releases` are the published releases."""
    return [*_of_the_module(step), *_of_the_change(step, releases)]


def _of_the_module(step: Step) -> Iterator[str]:
    if missing := MEMBERS - vars(step).keys():
        yield f"the module lacks {', '.join(sorted(missing))}"
    if not re.fullmatch(ID, getattr(step, "ID", "")):
        yield "the ID is not a time, such as 2026-11-24T12:00:00:000000"


def _of_the_change(step: Step, releases: Collection[str]) -> Iterator[str]:
    change = getattr(step, "CHANGE", None)
    if type(change) not in {Definitions, Index, Backfill}:
        yield "CHANGE is not Definitions, an Index or a Backfill: the runner knows how to make only these"
    elif isinstance(change, Definitions):
        yield from _of_definitions(change, releases)


def _of_definitions(change: Definitions, releases: Collection[str]) -> Iterator[str]:
    statements = [_plain(statement) for statement in change.sql(POSTGRES)]
    created = {name for statement in statements for name in re.findall(r"^CREATE TABLE (\w+)", statement)}
    altered = {name for statement in statements for name in re.findall(r"^ALTER TABLE (\w+)", statement)} - created
    allowed = ALLOWED + (REMOVALS if change.unused_since in releases else ())
    if len(altered) > 1:
        yield f"one transaction locks several tables, {', '.join(sorted(altered))}: make a migration for each"
    for statement in statements:
        on_table = re.fullmatch(ON_NEW_TABLES, statement)
        if not (on_table and on_table[1] in created) and not _is_one_of(allowed, statement):
            yield f"not allowed while servers write: {statement}"


def _is_one_of(patterns: Collection[str], statement: str) -> bool:
    return ";" not in statement and any(re.fullmatch(pattern, statement) for pattern in patterns)


def _plain(statement: str) -> str:
    """Return a statement on one line. Quotes around names and the body of a function are removed."""
    without_body = re.sub(r"\$\$.*\$\$", "$$", statement, flags=re.DOTALL)
    return " ".join(without_body.replace('"', "").split()).removesuffix(";")
