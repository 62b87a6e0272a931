"""The migrations must produce the tables of `tables.py` on both kinds of database. Each must run only once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from piccolo.apps.migrations.tables import Migration
from piccolo.table import Table, create_db_tables

from chatkey_server.clock import Clock
from chatkey_server.settings import Settings, SettingsError
from chatkey_server.storage import admin, engine, migrate
from chatkey_server.storage.schema_changes import Definitions
from chatkey_server.storage.tables import TABLES, UNIQUE, Agent, Call, Conversation, Provider
from chatkey_server.storage.vault import KEY_FILE, Vault

Schema = dict[str, object]

POSTGRES_COLUMNS = """
    SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default
    FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
    WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
"""
POSTGRES_INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
SEARCH = {
    "sqlite": {
        "table message_search",
        *(f"table message_search_{part}" for part in ("data", "idx", "content", "docsize", "config")),
        "trigger message_searchable",
        "trigger message_unsearchable",
    },
    "postgres": {"message_search"},
}
"""What each database has for searching and Piccolo cannot express."""
POSTGRES_FOREIGN_KEYS = "SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f'"


async def _rows(query: str) -> list[dict[str, Any]]:
    return [dict(row) for row in await Agent.raw(query) or ()]


async def _schema(database: engine.Database) -> Schema:
    """Return every table, column, index and foreign key that the database reports."""
    if isinstance(database, engine.SQLite):
        found = await _rows("SELECT type, name, sql FROM sqlite_master WHERE type <> 'view' AND sql IS NOT NULL")
        return {f"{row['type']} {row['name']}": row["sql"] for row in found if row["name"] != "migration"}
    columns = {f"{row['table_name']}.{row['column_name']}": row for row in await _rows(POSTGRES_COLUMNS)}
    indexes = {row["indexname"]: row["indexdef"] for row in await _rows(POSTGRES_INDEXES)}
    keys = {row["conname"]: row["definition"] for row in await _rows(POSTGRES_FOREIGN_KEYS)}
    everything: Schema = {**columns, **indexes, **keys}
    return {name: value for name, value in everything.items() if not name.startswith("migration")}


@pytest.mark.contract("D-15/both-databases")
async def test_the_migrations_end_in_the_tables_of_today(
    database: engine.Database, empty_database: engine.Database
) -> None:
    engine.bind(empty_database)
    await create_db_tables(*TABLES)
    declared = await _schema(empty_database)
    engine.bind(database)
    migrated = await _schema(database)

    extra = {name.removeprefix("index ") for name in set(migrated) - set(declared)}
    search = {name for name in extra if "search" in name}

    assert {name: migrated[name] for name in declared} == declared
    assert search == SEARCH[str(database.engine_type)]
    assert extra - search == {
        "registered_domain_key",
        "social_login_key",
        "oauth_application_key",
        "chat_customer_key",
        "conversation_key",
        "message_seq_key",
        "message_id_key",
        "call_open_key",
        "agent_provider_key",
        "conversation_newest",
        "conversation_of_provider",
        "conversation_of_agent",
        "conversation_of_member",
        "conversation_waiting",
    }


@pytest.mark.contract("D-11/keyed")
@pytest.mark.parametrize("table", UNIQUE, ids=lambda table: str(table.__name__))
async def test_every_composite_key_is_a_unique_index(table: type[Table], database: engine.Database) -> None:
    indexes = [str(definition).replace('"', "") for definition in (await _schema(database)).values()]

    for columns in UNIQUE[table]:
        wanted = f"({', '.join(column._meta.name for column in columns)})"
        assert any("UNIQUE INDEX" in index and table._meta.tablename in index and wanted in index for index in indexes)


async def test_a_conversation_has_at_most_one_call_that_is_not_over(database: engine.Database) -> None:
    conversation = Conversation(provider="p", login="custom", uid="u", last_at=0)
    await conversation.save()
    await Call(conversation=conversation.id, state="ended", started_at=0).save()
    await Call(conversation=conversation.id, state="active", started_at=1).save()

    with pytest.raises(Exception, match=r"(?i)unique"):
        await Call(conversation=conversation.id, state="ringing", started_at=2).save()


async def test_an_empty_database_is_migrated_once(empty_database: engine.Database) -> None:
    every = [step.ID for step in migrate.steps()]

    assert await migrate.pending() == every
    assert await migrate.migrate() == every
    assert await migrate.pending() == []
    assert await migrate.migrate() == []
    assert await Provider.count() == 0


async def test_two_migrations_at_the_same_time_do_not_disturb_each_other(empty_database: engine.Database) -> None:
    done = await asyncio.gather(migrate.migrate(), migrate.migrate())

    assert sorted(map(len, done)) == [0, len(migrate.steps())]
    assert await migrate.pending() == []


async def test_a_migration_that_fails_changes_nothing(
    empty_database: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate.migrate()
    before = await _schema(empty_database)
    twice = ("CREATE TABLE half (n int)", "CREATE TABLE agent (n int)")
    bad = SimpleNamespace(ID="9", CHANGE=Definitions(statements={"sqlite": twice, "postgres": twice}))
    every = [*migrate.steps(), bad]
    monkeypatch.setattr(migrate, "steps", lambda: every)

    with pytest.raises(SettingsError, match=r"migration 9 failed \(.*agent.* already exists\)"):
        await migrate.migrate()

    assert await migrate.pending() == ["9"]
    assert await _schema(empty_database) == before


async def test_a_database_of_a_version_before_the_first_release_is_refused(empty_database: engine.Database) -> None:
    await Migration.create_table()
    await Migration.insert(Migration(name="2026-11-23T12:00:00:000000", app_name="chatkey"))

    with pytest.raises(SettingsError, match=r"made by a version before the first release.* an empty database"):
        await migrate.migrate()

    assert await _schema(empty_database) == {}


async def test_the_migrations_of_a_newer_release_do_not_disturb(empty_database: engine.Database) -> None:
    await migrate.migrate()
    await Migration.insert(Migration(name="2100-01-01T00:00:00:000000", app_name="chatkey"))

    assert await migrate.pending() == []


@pytest.mark.contract("D-15/migrations")
async def test_the_embedded_database_is_migrated_at_the_start(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)

    async with engine.opened(settings.database):
        done = await migrate.ensure(settings)

        assert len(done) == len(migrate.steps())
        assert await migrate.ensure(settings) == []


async def test_a_database_sealed_with_another_master_key_is_refused_at_the_start(tmp_path: Path, clock: Clock) -> None:
    settings = Settings(data_dir=tmp_path)
    async with engine.opened(settings.database):
        await migrate.ensure(settings)
        await admin.add_provider(Vault.of(settings), now=clock())
        assert await migrate.ensure(settings) == []
        (tmp_path / KEY_FILE).unlink()

        with pytest.raises(SettingsError, match=r"CHATKEY_MASTER_KEY .* restore the master\.key"):
            await migrate.ensure(settings)


@pytest.mark.contract("D-15/migrations")
async def test_an_external_database_must_be_migrated_by_hand(empty_database: engine.Database) -> None:
    settings = Settings(database_url="postgresql://elsewhere/x")

    with pytest.raises(SettingsError, match=r"lacks \d+ migrations?; run `chatkey db migrate`, then start again"):
        await migrate.ensure(settings)
    await migrate.migrate()

    assert await migrate.ensure(settings) == []
