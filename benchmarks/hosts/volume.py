"""Measures history, search and the agents' list with a million messages and with ten thousand, on both databases.

The benchmark queries two conversations: one with the same length in both sizes, and a long one with a tenth of all
messages. In both sizes, there are more conversations than a page of the agents' list shows. Each of the two
conversations contains a rare and a frequent word. The queries are those of the service, but without a socket. The two
sizes alternate. Each ratio compares medians.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from statistics import median
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

import asyncpg  # type: ignore[import-untyped]
from benchmarks.hosts.deployment import Machines
from benchmarks.hosts.sizes import Size

from chatkey_server.chat import conversations, desk, search
from chatkey_server.chat.conversations import Begun
from chatkey_server.storage import engine, migrate
from chatkey_server.storage.agent_sessions import SignedIn
from chatkey_server.storage.engine import SQLITE, snapshot

SMALL_PART: Final = 100
TENTH: Final = 10
CONVERSATIONS: Final = 100
"""About how many conversations the small database has."""
ROUNDS: Final = 5
ASKED: Final = 20
PAGE: Final = 50
STARTS: Final = ("ba", "de", "fi", "go", "lu", "mo", "ne", "pi")
ENDS: Final = ("ran", "tol", "mek", "dish", "vor")
WORDS: Final = [start + end for start in STARTS for end in ENDS]
RARE: Final = "rarissime"
COLUMNS: Final = ("id", "conversation", "seq", "message_id", "sender", "name", "body", "folded", "sent_at")
OWNERS: Final = ("id", "provider", "login", "uid", "last_seq", "last_at", "waiting")
AGENT: Final = SignedIn("", "grace", None)
FIRST_AT: Final = 1_700_000_000

INDEXES: Final = """
    SELECT indexname, indexdef FROM pg_indexes
    WHERE tablename = $1 AND indexname NOT IN (SELECT conname FROM pg_constraint)
"""

Row = tuple[Any, ...]
Question = Callable[[Begun], Awaitable[object]]

QUESTIONS: Final[Mapping[str, Question]] = {
    "history_newest": lambda own: conversations.page(own, None, PAGE),
    "history_middle": lambda own: conversations.page(own, own.last_seq // 2, PAGE),
    "search_frequent": lambda own: search.find(own.id, own.last_seq, WORDS[0]),
    "search_rare": lambda own: search.find(own.id, own.last_seq, RARE),
    "agents_list": lambda _: desk.overview(AGENT),
}
NAMES: Final = [f"{length}_{question}" for length in ("same", "long") for question in QUESTIONS]


class Filled(NamedTuple):
    """A database with messages, and two of its conversations."""

    url: str
    same: Begun
    long: Begun


async def measure(machines: Machines, size: Size) -> dict[str, object]:
    """Compare a large database with a database of a hundredth of the size, in SQLite and in PostgreSQL."""
    figures: dict[str, object] = {"messages": size.messages}
    for kind in ("sqlite", "postgres"):
        both = []
        for count in (size.messages // SMALL_PART, size.messages):
            file = machines.folder / f"{count}.sqlite"
            url = f"{SQLITE}{file}" if kind == "sqlite" else await machines.new_database()
            both.append(await filled(url, count, size.messages // SMALL_PART // CONVERSATIONS))
        times = await _times(both)
        for name in NAMES:
            small, large = (median(times[one.url, name]) for one in both)
            figures[f"{kind}_{name}_ratio"] = round(large / small, 2)
            figures[f"{kind}_{name}_ms"] = round(large * 1e3, 2)
    return figures


async def _times(both: Sequence[Filled]) -> dict[tuple[str, str], list[float]]:
    times: dict[tuple[str, str], list[float]] = {(one.url, name): [] for one in both for name in NAMES}
    for _ in range(ROUNDS):
        for one in both:
            async with engine.opened(one.url):
                for question, ask in QUESTIONS.items():
                    for length, asked in (("same", one.same), ("long", one.long)):
                        await _asked(ask, asked)
                        times[one.url, f"{length}_{question}"] += [await _asked(ask, asked) for _ in range(ASKED)]
    return times


async def _asked(ask: Question, own: Begun) -> float:
    before = time.perf_counter()
    async with snapshot():
        await ask(own)
    return time.perf_counter() - before


async def filled(url: str, count: int, same: int) -> Filled:
    """Write `count` messages: a tenth in one conversation, the others in conversations of `same` messages each."""
    async with engine.opened(url):
        await migrate.migrate()
    long = count // TENTH
    lengths = {uuid4(): length for length in (long, *[same] * ((count - long) // same))}
    owners = [
        (owner, "bench", "custom", f"user{number}", length, (FIRST_AT + number) * 1000, False)
        for number, (owner, length) in enumerate(lengths.items())
    ]
    store = _into_sqlite if url.startswith(SQLITE) else _into_postgres
    await store(url, "conversation", OWNERS, iter(owners))
    await store(url, "message", COLUMNS, _messages(lengths))
    first, second, *_ = (Begun(owner, length) for owner, length in lengths.items())
    return Filled(url, second, first)


def _messages(lengths: Mapping[UUID, int]) -> Iterator[Row]:
    luck = random.Random(len(lengths))
    for seq in range(1, max(lengths.values()) + 1):
        for owner, length in lengths.items():
            if seq <= length:
                body = " ".join(luck.choices(WORDS, k=8)) + (f" {RARE}" if seq == length // 3 else "")
                folded = search.searchable(owner, body)
                yield (uuid4(), owner, seq, f"m{seq}", "customer", None, body, folded, FIRST_AT + seq)


async def _into_sqlite(url: str, table: str, columns: tuple[str, ...], rows: Iterator[Row]) -> None:
    marks = ", ".join("?" * len(columns))
    with closing(sqlite3.connect(url.removeprefix(SQLITE))) as connection, connection:
        connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})",
            ([str(value) if isinstance(value, UUID) else value for value in row] for row in rows),
        )


async def _into_postgres(url: str, table: str, columns: tuple[str, ...], rows: Iterator[Row]) -> None:
    """Drop the indexes, copy the rows, and create the indexes again, which is ten times as fast as inserting rows."""
    connection = await asyncpg.connect(url)
    try:
        indexes = await connection.fetch(INDEXES, table)
        for index in indexes:
            await connection.execute(f"DROP INDEX {index['indexname']}")
        await connection.copy_records_to_table(table, records=rows, columns=columns)
        for index in indexes:
            await connection.execute(index["indexdef"])
        await connection.execute(f"VACUUM ANALYZE {table}")
    finally:
        await connection.close()
