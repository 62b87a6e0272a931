"""Tests of the sample adapters and the sample targets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conform.nodes import Wishes, node_service
from tests.node import NODE

from chatkey_protocol.names import CONFIG_PATH
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

SAMPLES = Path(__file__).parents[2] / "docs" / "samples"
TARGETS = sorted(SAMPLES.glob("*.toml"))
MOST_LINES = 150

Ask = Callable[..., Any]


class Told(dict[str, Any]):
    """The answer of an adapter. If a test reads a missing member, the error shows the whole answer."""

    def __missing__(self, member: str) -> Any:
        """Fail the test, and show the whole answer, which contains the reason."""
        raise AssertionError(f"the adapter told no {member}: {dict(self)}")


def run(command: tuple[str, ...], verb: str, given: dict[str, object], **environ: str) -> Told:
    """Call an adapter as the suite does, and return the complete answer."""
    done = subprocess.run(
        [*command, verb],
        input=json.dumps(given),
        env={**os.environ, **environ},
        cwd=SAMPLES,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
    )
    told = Told(json.loads(done.stdout))
    assert done.returncode == ("error" in told), done.stderr
    return told


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the service in Node, for which the adapter in Node was written."""
    [port] = free_ports(1)
    wishes = Wishes(f"http://localhost:{port}", port, lab_token="of-this-test")
    with node_service(tmp_path_factory.mktemp("node"), wishes) as server:
        yield server.local_url


@pytest.fixture
def by_node(served: str) -> Ask:
    command = (NODE, "adapter.mjs")
    environ = {"ADMIN_URL": f"{served}/lab", "ADMIN_TOKEN": "of-this-test"}
    return lambda verb, **given: run(command, verb, given, **environ)


@pytest.fixture
def by_python(tmp_path: Path) -> Ask:
    return lambda verb, **given: run((sys.executable, "adapter.py"), verb, given, CHATKEY_DATA_DIR=str(tmp_path))


def test_the_adapter_in_node_makes_changes_and_removes(by_node: Ask, served: str) -> None:
    """The adapter must create a business, switch it off, and remove it."""
    made = by_node("provision", domains=["shop.example"])["data"]
    statuses = []
    for verb, given in (("capabilities", {}), ("change", {"id": made["id"], "enabled": False}), ("remove", made)):
        by_node(verb, **given)
        answer = httpx.get(served + CONFIG_PATH.format(id=made["id"]), trust_env=False, timeout=PATIENCE)
        statuses.append(answer.status_code)

    assert set(made) == {"id", "secret_key"}
    assert statuses == [200, 403, 404]


def test_the_adapter_in_node_moves_the_clock_and_reads_members(by_node: Ask) -> None:
    """The adapter must move the clock and reset it. A new business must have no members."""
    now = by_node("reset")
    later = by_node("advance", seconds=3600)["data"]["now"]
    again = by_node("advance", seconds=0)["data"]["now"]
    members = by_node("member", id=by_node("provision", domains=[])["data"]["id"])

    assert "data" in now
    assert 0 <= again - later < PATIENCE
    assert members == {"data": []}


def test_the_adapter_in_python_makes_a_business(by_python: Ask, tmp_path: Path) -> None:
    """The service's database must contain the business with its domain and its social login."""
    keys = {"key_source": "own", "client_id": "an-id", "client_secret": "a-secret"}
    made = by_python("provision", domains=["shop.example"], socials={"google": keys})["data"]

    show = (sys.executable, "-m", "chatkey", "provider", "show", made["id"], "--json")
    environ = {**os.environ, "CHATKEY_DATA_DIR": str(tmp_path)}
    shown = subprocess.run(show, env=environ, capture_output=True, text=True, check=True).stdout

    assert len(made["secret_key"]) >= 32
    assert all(word in shown for word in ("https://shop.example", "google", "an-id"))
    assert "businesses" in by_python("capabilities")["data"]
    assert by_python("remove", id=made["id"]) == {"data": None}


@pytest.mark.parametrize("language", ["by_node", "by_python"])
def test_an_unknown_verb_gets_an_error_that_names_it(language: str, request: pytest.FixtureRequest) -> None:
    ask: Ask = request.getfixturevalue(language)

    assert "dance" in ask("dance")["error"]["message"]


@pytest.mark.parametrize("name", ["adapter.mjs", "adapter.py"])
def test_an_adapter_is_short(name: str) -> None:
    """Users read an adapter before they copy it."""
    assert len((SAMPLES / name).read_text().splitlines()) < MOST_LINES


@pytest.mark.parametrize("file", TARGETS, ids=lambda file: str(file.stem))
def test_a_sample_target_names_one_grade_and_files_that_are_there(file: Path) -> None:
    """Each sample must have the entry that its grade requires, and the adapter that the sample names must be in the
    same folder.
    """
    target = tomllib.loads(file.read_text())
    businesses = target["businesses"]

    needed = {"command": "command", "lab": "url", "prepared": "prepared"}
    assert needed[businesses.pop("grade")] in businesses
    assert all((SAMPLES / name).is_file() for name in businesses.get("command", ())[1:])
