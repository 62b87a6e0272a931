"""Tests how the multi-host benchmark detects missing and duplicate messages. The tests need no other hosts."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from benchmarks.hosts import __main__ as command
from benchmarks.hosts import pages
from benchmarks.hosts.pages import Ledger, Panel, Tab

from chatkey_peer.key import BrowserKey
from chatkey_stack.patience import PATIENCE


def entry(seq: int, message_id: str) -> dict[str, Any]:
    return {"seq": seq, "id": message_id}


@pytest.fixture
def tab() -> Tab:
    return Tab("ada", BrowserKey(), ["10.0.0.1"], 0, Ledger())


async def test_an_acknowledged_message_that_is_not_shown_is_missing(tab: Tab) -> None:
    tab.ledger.acked["ada"] = {"a": 1, "b": 2}

    tab.show("ada", [entry(1, "a")])
    lacking = tab.missing("ada")
    tab.show("ada", [entry(2, "b")])

    assert (lacking, tab.missing("ada")) == ({"b"}, set())


async def test_a_message_shown_with_two_numbers_is_doubled(tab: Tab) -> None:
    tab.show("ada", [entry(1, "a"), entry(1, "a")])
    told_twice = tab.doubled("ada")
    tab.show("ada", [entry(2, "a")])

    assert (told_twice, tab.doubled("ada")) == (0, 1)


async def test_a_message_counts_as_sent_until_it_is_acknowledged(tab: Tab) -> None:
    await tab.write()
    (message_id,) = tab.ledger.sent
    waited = tab.is_waiting

    await tab.take({"type": "ack", "id": message_id, "seq": 1})

    assert (waited, tab.is_waiting, tab.ledger.acked["ada"]) == (True, False, {message_id: 1})


async def test_a_gap_in_the_numbers_causes_a_request(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "GAP_SECONDS", 0)
    asked = asyncio.Event()

    async def ask_before(conversation: str, seq: int) -> None:
        assert (conversation, seq) == ("ada", 3)
        asked.set()

    monkeypatch.setattr(tab, "ask_before", ask_before)
    tab.ready.set()
    tab.show("ada", [entry(1, "a"), entry(3, "c")])

    await asyncio.wait_for(asked.wait(), PATIENCE)


class Silent:
    """A connection that never receives anything."""

    def __init__(self) -> None:
        self.transport = self
        self.sent: list[str] = []
        self.left = asyncio.Event()

    async def send(self, text: str) -> None:
        self.sent.append(text)

    def abort(self) -> None:
        self.left.set()


async def test_a_page_whose_connection_is_dead_pings_and_leaves_it(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    for patience in ("ANSWER_SECONDS", "PROBE_SECONDS"):
        monkeypatch.setattr(pages, patience, 0)
    dead = Silent()
    monkeypatch.setattr(tab, "_socket", dead)
    tab.ready.set()

    await tab.write()
    await asyncio.wait_for(dead.left.wait(), PATIENCE)
    await asyncio.sleep(0)

    assert [json.loads(text)["type"] for text in dead.sent] == ["message", "ping"]


async def test_a_page_that_gets_an_answer_keeps_its_connection(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ANSWER_SECONDS", 0)
    alive = Silent()
    monkeypatch.setattr(tab, "_socket", alive)

    await tab.say({"type": "ping"})
    tab._heard("pong")
    for _ in range(3):
        await asyncio.sleep(0)

    assert not alive.left.is_set()
    assert len(alive.sent) == 1


async def test_a_panel_shows_what_it_was_told_before_the_conversation_was_listed() -> None:
    panel = Panel("cookie", ["10.0.0.1"], 0, Ledger())
    uid = f"{panel.ledger.mark}-0"
    panel.ledger.acked[uid] = {"a": 1}

    await panel.take({"type": "message", "conversation": "c", "message": entry(1, "a")})
    early = panel.missing(uid)
    await panel.take(
        {"type": "conversations", "more": False, "items": [{"id": "c", "uid": uid, "last": entry(1, "a")}]}
    )

    assert (early, panel.missing(uid)) == ({"a"}, set())


def test_without_root_the_reason_for_missing_figures_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr("sys.argv", ["hosts", "restart"])
    monkeypatch.setattr("sys.platform", "linux")

    command.main()

    assert capsys.readouterr().out == '{"bench": "hosts", "skipped": "only root can create network namespaces"}\n'


def test_an_unknown_figure_is_refused_with_a_list_of_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["hosts", "redis-kiled"])

    with pytest.raises(SystemExit, match=r"Unknown figures: redis-kiled. Known are redis-killed, .*volume"):
        command.main()
