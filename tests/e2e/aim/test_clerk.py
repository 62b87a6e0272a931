"""Tests that an agent's action in a scenario becomes a call of the target's adapter."""

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatkey_e2e.aim.aim import take_aim
from chatkey_e2e.aim.lab import TargetLab
from chatkey_e2e.clerk import Clerk

ADAPTER = """
import json, sys
open("asked.json", "w").write(json.dumps([sys.argv[1], json.load(sys.stdin)]))
print(json.dumps({"data": {"messages": [{"sender": "customer", "body": "Hello?"}]}}))
"""

SAID = [("customer", "Hello?")]


@pytest.fixture
def clerk(tmp_path: Path) -> Clerk:
    """An agent for a business of a target of grade `command`."""
    command = json.dumps([sys.executable, "-c", ADAPTER])
    path = tmp_path / "TARGET.toml"
    path.write_text(
        '[target]\nname = "A service"\nbase_url = "https://chat.example"\nhave = ["agent"]\n'
        f'[businesses]\ngrade = "command"\ncommand = {command}\n'
    )
    with closing(TargetLab("https://nowhere.invalid", None, take_aim(path).businesses)) as lab:
        return Clerk(lab, "shop")


@pytest.mark.parametrize(
    ("do", "asked"),
    [
        (lambda clerk: clerk.read("v_1"), {"do": "read"}),
        (lambda clerk: clerk.answer("v_1", "Hello!"), {"do": "answer", "body": "Hello!"}),
        (lambda clerk: clerk.end_call("v_1"), {"do": "end"}),
    ],
    ids=["read", "answer", "end"],
)
def test_the_adapter_gets_the_verb_and_returns_the_conversation(
    clerk: Clerk, tmp_path: Path, do: Callable[[Clerk], list[tuple[str, str]]], asked: dict[str, str]
) -> None:
    told = do(clerk)

    assert json.loads((tmp_path / "asked.json").read_text()) == ["agent", {"id": "shop", "uid": "v_1", **asked}]
    assert told == SAID
