"""No component imports in a circle: neither its files nor its packages, counting lazy and typing imports too."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOMES = {
    "chatkey_build": ROOT / "widget_sim" / "chatkey_build",
    "chatkey_demo": ROOT / "demo" / "chatkey_demo",
    "chatkey_e2e": ROOT / "e2e" / "chatkey_e2e",
    "chatkey_lab": ROOT / "lab" / "chatkey_lab",
    "chatkey_oauth": ROOT / "fake_oauth" / "chatkey_oauth",
    "chatkey_protocol": ROOT / "widget_sim" / "chatkey_protocol",
    "chatkey_serving": ROOT / "serving" / "chatkey_serving",
    "chatkey_stack": ROOT / "stack" / "chatkey_stack",
    "chatkey_widget": ROOT / "widget_sim" / "chatkey_widget",
}
"""The components that are free of circles, by the folder of their package."""

ITSELF = "__init__"


def import_graph(home: Path) -> dict[str, set[str]]:
    """Which module of a package imports which other one, anywhere in its file."""
    modules = {
        ".".join((home.name, *path.relative_to(home).with_suffix("").parts)): path for path in home.rglob("*.py")
    }
    return {name: set(imports(name, path, modules.keys())) for name, path in modules.items()}


def imports(module: str, path: Path, known: Iterable[str]) -> Iterator[str]:
    """The modules among the known ones that a file imports; a package stands for its `__init__`."""
    names = {name.removesuffix(f".{ITSELF}"): name for name in known}
    for node in ast.walk(ast.parse(path.read_text())):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [name if name in names else node.module or "" for name in whole]
        yield from (names[name] for name in found if name in names and names[name] != module)


def among_siblings(graph: Mapping[str, set[str]]) -> Iterator[dict[str, set[str]]]:
    """For each package: which of its direct members imports which other one, however deep below them."""
    for package in sorted({name.rpartition(".")[0] for name in graph}):
        depth = package.count(".") + 2
        members: dict[str, set[str]] = {}
        for name, found in graph.items():
            if name.startswith(f"{package}."):
                inside = {cut(other, depth) for other in found if other.startswith(f"{package}.")}
                members.setdefault(cut(name, depth), set()).update(inside - {cut(name, depth)})
        yield members


def cut(module: str, depth: int) -> str:
    """The first so many parts of a module's name."""
    return ".".join(module.split(".")[:depth])


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A way that ends where it began, by names; empty where there is none."""
    done: set[str] = set()

    def walk(way: list[str]) -> list[str]:
        for name in sorted(graph[way[-1]] - done):
            if name in way:
                return [*way[way.index(name) :], name]
            if found := walk([*way, name]):
                return found
        done.add(way[-1])
        return []

    return next((found for name in sorted(graph) if (found := walk([name]))), [])


@pytest.mark.parametrize("component", HOMES)
def test_no_file_of_a_component_leads_back_to_itself(component: str) -> None:
    found = circle(import_graph(HOMES[component]))

    assert not found, " → ".join(found)


@pytest.mark.parametrize("component", HOMES)
def test_no_package_of_a_component_leads_back_to_itself(component: str) -> None:
    found = [circle(members) for members in among_siblings(import_graph(HOMES[component]))]

    assert not any(found), "; ".join(" → ".join(way) for way in found if way)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of two packages, `up` and `down`, that imports one way only."""
    home = tmp_path / "pkg"
    for name, text in {
        "__init__": "",
        "up/__init__": "",
        "up/one": "from pkg.down import low\n",
        "up/two": "from pkg.up.one import anything\n",
        "down/__init__": "",
        "down/low": "import json\n",
        "down/lower": "",
    }.items():
        path = home / f"{name}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
    return home


def test_a_package_that_imports_one_way_has_no_circle(package: Path) -> None:
    graph = import_graph(package)

    assert circle(graph) == []
    assert graph["pkg.up.two"] == {"pkg.up.one"}
    assert graph["pkg.up.one"] == {"pkg.down.low"}
    assert not any(map(circle, among_siblings(graph)))


@pytest.mark.parametrize(
    "text",
    [
        "from pkg.up import two\n",
        "import pkg.up.two\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg.up.two import Anything\n",
        "def later():\n    from pkg.up.two import anything\n",
    ],
    ids=["module", "whole name", "typing", "lazy"],
)
def test_a_circle_is_told_by_its_way_wherever_its_imports_stand(package: Path, text: str) -> None:
    (package / "down" / "low.py").write_text(text)

    assert circle(import_graph(package)) == ["pkg.down.low", "pkg.up.two", "pkg.up.one", "pkg.down.low"]


def test_packages_can_go_in_a_circle_although_no_file_does(package: Path) -> None:
    (package / "down" / "lower.py").write_text("from pkg.up.two import anything\n")

    graph = import_graph(package)

    assert circle(graph) == []
    assert [way for members in among_siblings(graph) if (way := circle(members))] == [
        ["pkg.down", "pkg.up", "pkg.down"]
    ]


def test_a_package_that_imports_its_own_module_is_its_init_file(package: Path) -> None:
    (package / "up" / "__init__.py").write_text("from pkg.up.one import anything\n")
    (package / "up" / "one.py").write_text("from pkg.up import anything\n")

    assert circle(import_graph(package)) == ["pkg.up.__init__", "pkg.up.one", "pkg.up.__init__"]
