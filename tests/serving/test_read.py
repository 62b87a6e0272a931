"""Tests that we use only the names of uvicorn that are listed, and that a server checks a newer uvicorn."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from chatkey_serving import read
from chatkey_serving.read import LEANS_ON, UNREAD, members

ROOT = Path(__file__).parents[2]
ROOM = ROOT / "server" / "chatkey_serving"
COMPONENTS = ("server", "widget_sim", "fake_oauth", "e2e", "demo")
SUBCLASSES = {
    "Server": "uvicorn.server.Server",
    "Cuttable": "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol",
    "PatientHttp": "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol",
    "PatientSocket": "uvicorn.protocols.websockets.websockets_sansio_impl.WebSocketsSansIOProtocol",
}


def test_the_installed_uvicorn_was_read() -> None:
    assert Version(version("uvicorn")).release[:2] < UNREAD


def test_the_requirement_has_no_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (uvicorn,) = (needed for text in project["dependencies"] if (needed := Requirement(text)).name == "uvicorn")

    assert {each.operator for each in uvicorn.specifier} == {">="}


def test_a_newer_uvicorn_with_all_names_is_used_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    read.check("99.0.1")

    assert [record.getMessage() for record in caplog.records] == [
        "uvicorn 99.0.1 is newer than the versions that chatkey was tested with (older than 0.55)"
    ]


@pytest.mark.parametrize(
    "owner",
    ["uvicorn.server.Server", "uvicorn.gone", "uvicorn.gone.Gone", "uvicorn.server.Gone"],
    ids=["name", "module", "class-of-a-module", "class"],
)
def test_a_newer_uvicorn_without_a_name_is_refused(owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "LEANS_ON", {owner: ("gone",)})

    with pytest.raises(
        read.UnsuitableUvicornError, match=rf"uvicorn 0\.55\.0 lacks {owner}\.gone, .* older than 0\.55"
    ):
        read.check("0.55.0")


@pytest.mark.parametrize("owner", LEANS_ON)
def test_every_internal_name_that_is_used_exists(owner: str) -> None:
    assert not set(LEANS_ON[owner]) - members(owner)


@pytest.mark.parametrize(("name", "base"), SUBCLASSES.items())
def test_every_internal_name_that_a_subclass_uses_is_listed(name: str, base: str) -> None:
    (subclass,) = (found for found in classes() if found.name == name)

    assert used(subclass) & members(base) <= set(LEANS_ON[base])


def test_every_subclass_of_a_uvicorn_class_is_listed() -> None:
    bases = {name for path in ROOM.glob("*.py") for name in from_uvicorn(path)} | {"uvicorn.Server"}

    found = {each.name for each in classes() if bases & {ast.unparse(base) for base in each.bases}}

    assert found == SUBCLASSES.keys()


def test_only_chatkey_serving_uses_internals_of_uvicorn() -> None:
    everywhere = (path for component in COMPONENTS for path in (ROOT / component).rglob("*.py"))
    elsewhere = [path for path in everywhere if ROOM not in path.parents]

    assert not {str(path): names for path in elsewhere if (names := list(from_uvicorn(path)))}


def classes() -> Iterator[ast.ClassDef]:
    for path in ROOM.glob("*.py"):
        yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))


def from_uvicorn(path: Path) -> Iterator[str]:
    """Yield the names that a file imports from uvicorn's submodules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("uvicorn."):
            yield from (alias.name for alias in node.names)


def used(subclass: ast.ClassDef) -> set[str]:
    """Return the names that a class defines, and those that it uses through `self` or `super()`."""
    names = {node.name for node in ast.walk(subclass) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    for node in ast.walk(subclass):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"self", "super()"}:
            names.add(node.attr)
    return names - {"__init__"}
