"""Tests of the imports between the checker's packages.

Imports may only lead to lower rows of the table in docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import chatkey_check

PACKAGE = "chatkey_check"
ROOT = Path(chatkey_check.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"
}


def rows() -> list[list[str]]:
    """Return the names of packages and files in each row of the table, from the top, without slashes and `.py`."""
    section = PAGE.read_text().partition("## In the checker")[2].partition("\n## ")[0]
    firsts = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    return [[name.removesuffix("/").removesuffix(".py") for name in re.findall(r"`(.+?)`", first)] for first in firsts]


def imported(path: Path) -> Iterator[str]:
    """Yield the checker's modules that a file imports.

    The imports may be at the top of the file, for type checking only, or in a function.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            assert node.module is not None
            for name in node.names:
                full = f"{node.module}.{name.name}".removeprefix(f"{PACKAGE}.")
                yield full if full in MODULES else full.rpartition(".")[0]


def test_every_package_and_every_file_beside_them_is_in_the_table_once() -> None:
    there = {name.partition(".")[0] for name in MODULES}

    assert sorted(name for row in rows() for name in row) == sorted(there)


def test_no_module_imports_a_package_above_its_own() -> None:
    height = {room: number for number, row in enumerate(rows()) for room in row}

    upwards = [
        f"{name} imports {other}"
        for name, path in MODULES.items()
        for other in imported(path)
        if height[other.partition(".")[0]] < height[name.partition(".")[0]]
    ]

    assert upwards == []


def test_there_are_no_import_cycles() -> None:
    graph = {name: set(imported(path)) - {name} for name, path in MODULES.items()}

    TopologicalSorter(graph).prepare()
