"""Tests that every migration follows the rule, and that each violation of the rule is detected."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, cast

import pytest
from benchmarks.next_release.release import MIGRATIONS
from piccolo.columns import UUID, BigInt, Boolean, Column, ForeignKey, OnDelete, Text, Timestamp, Varchar
from piccolo.table import Table
from tests.server.storage.migration_rule import breaches

from chatkey_server.storage import migrate, tables
from chatkey_server.storage.migrate import Step
from chatkey_server.storage.schema_changes import Backfill, Change, Definitions, Index

CHANGELOG: Final = Path(__file__).parents[3] / "CHANGELOG.md"
RELEASES: Final = ["1.0.0", "1.1.0"]
IMAGINED: Final[list[Any]] = [
    import_module(f"benchmarks.next_release.migrations.{file.stem}") for file in sorted(MIGRATIONS.glob("m*.py"))
]
"""Migrations of an imaginary next release, with which the upgrade is tested."""


class Message(Table, tablename="message"):
    language = Varchar(length=8, null=True, default=None)
    is_draft = Boolean(default=False)
    note = Text(default="none (yet)")
    agent = ForeignKey(references=tables.Agent, on_delete=OnDelete.set_null, null=True, default=None)
    token = UUID()
    read_at = Timestamp()
    number = BigInt(null=True, default=None, unique=True)


class Conversation(Table, tablename="conversation"):
    language = Varchar(length=8, null=True, default=None)


class Label(Table, tablename="label"):
    text = Text(index=True)


def step(change: object, **changes: object) -> Step:
    members = {"ID": "2027-01-01T00:00:00:000000", "DESCRIPTION": "A test's own.", "CHANGE": change, **changes}
    return cast("Step", SimpleNamespace(**{name: value for name, value in members.items() if value is not None}))


def sql(*statements: str, unused_since: str = "") -> Definitions:
    """Return a migration change that runs these statements on PostgreSQL."""
    return Definitions(statements={"postgres": statements}, unused_since=unused_since)


def added(*columns: Any) -> Definitions:
    """Return a migration change that adds these columns."""
    return Definitions(columns=[column for column in columns if isinstance(column, Column)])


def released() -> list[str]:
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\]", CHANGELOG.read_text(), re.MULTILINE)


@pytest.mark.parametrize("each", [*migrate.steps(), *IMAGINED], ids=lambda each: str(each.ID))
def test_every_migration_follows_the_rule(each: Step) -> None:
    assert breaches(each, released()) == []


def test_migrations_have_unique_ids_and_files_named_by_their_day() -> None:
    every = migrate.steps()

    assert len({each.ID for each in every}) == len(every)
    for each in every:
        day = each.ID[:10].replace("-", "_")
        assert Path(str(vars(each)["__file__"])).name.startswith(f"m{day}_")


@pytest.mark.parametrize(
    "change",
    [
        added(Message.language, Message.is_draft, Message.note, Message.agent),
        Definitions(tables=[Label], statements={"postgres": ["CREATE UNIQUE INDEX label_key ON label (text)"]}),
        sql("CREATE OR REPLACE VIEW domains AS SELECT id FROM registered_domain"),
        sql("CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE message SET seq = 1; END $$"),
        sql("ALTER TABLE message ALTER COLUMN name DROP NOT NULL"),
        sql("ALTER TABLE message DROP COLUMN name", unused_since="1.1.0"),
        sql("DROP VIEW domains", unused_since="1.0.0"),
        sql("ALTER TABLE message ADD CONSTRAINT positive CHECK (seq > 0) NOT VALID", unused_since="1.1.0"),
        Index("message_language", "message (language)"),
        Backfill("message", "language = 'en'", where="language IS NULL"),
    ],
)
def test_changes_that_do_not_block_writers_are_allowed(change: Change) -> None:
    assert breaches(step(change), RELEASES) == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(sql("CREATE INDEX slow ON message (sender)"), id="an index that writers wait for"),
        pytest.param(sql("CREATE UNIQUE INDEX slow ON message (sender, seq)"), id="a unique index"),
        pytest.param(sql("CREATE INDEX CONCURRENTLY slow ON message (sender)"), id="concurrently in a transaction"),
        pytest.param(sql("REINDEX TABLE message"), id="an index rebuilt"),
        pytest.param(added(Message.token), id="a default that rewrites the table"),
        pytest.param(added(Message.read_at), id="a default that is computed"),
        pytest.param(added(Message.number), id="a unique column"),
        pytest.param(sql("ALTER TABLE message ADD COLUMN a INTEGER NOT NULL"), id="a column without a default"),
        pytest.param(sql("ALTER TABLE message ADD COLUMN a INT DEFAULT 1 CHECK (a > 0)"), id="a column with a check"),
        pytest.param(added(Message.language, Conversation.language), id="two tables in one transaction"),
        pytest.param(sql("ALTER TABLE message DROP COLUMN name"), id="a column dropped"),
        pytest.param(sql("ALTER TABLE message DROP COLUMN name", unused_since="1.2.0"), id="dropped too early"),
        pytest.param(sql("ALTER TABLE message ALTER COLUMN seq DROP DEFAULT"), id="a default dropped"),
        pytest.param(sql("DROP VIEW domains"), id="a view dropped"),
        pytest.param(sql("ALTER TABLE message RENAME COLUMN name TO author"), id="a column renamed"),
        pytest.param(sql("ALTER TABLE message RENAME COLUMN a TO b", unused_since="1.0.0"), id="renamed any time"),
        pytest.param(sql("ALTER TABLE message RENAME TO messages"), id="a table renamed"),
        pytest.param(sql("ALTER TABLE message ALTER COLUMN seq TYPE BIGINT"), id="a column retyped"),
        pytest.param(sql("ALTER TABLE message ALTER COLUMN name SET NOT NULL"), id="a column made not null"),
        pytest.param(sql("ALTER TABLE message ADD CONSTRAINT c CHECK (seq > 0)"), id="a constraint that scans"),
        pytest.param(sql("ALTER TABLE message ADD FOREIGN KEY (name) REFERENCES agent"), id="a foreign key that scans"),
        pytest.param(sql("UPDATE message SET name = ''"), id="rows changed with the table locked"),
        pytest.param(sql("CREATE TABLE a (b INT); UPDATE message SET seq = 1"), id="two statements in one"),
        pytest.param(sql("LOCK TABLE message"), id="a lock"),
    ],
)
def test_changes_that_block_writers_or_break_the_previous_release_are_breaches(change: Change) -> None:
    assert len(breaches(step(change), RELEASES)) == 1


@pytest.mark.parametrize(
    "bad",
    [
        step(None),
        step(object()),
        step(sql(), DESCRIPTION=None),
        step(sql(), ID="tomorrow"),
    ],
)
def test_a_module_that_is_no_migration_is_a_breach(bad: Step) -> None:
    assert breaches(bad, RELEASES)


def test_a_column_can_be_dropped_only_once_a_release_without_it_was_published() -> None:
    dropped = step(sql("ALTER TABLE message DROP COLUMN name", unused_since="1.1.0"))

    assert breaches(dropped, ["1.0.0"])
    assert breaches(dropped, ["1.0.0", "1.1.0"]) == []
