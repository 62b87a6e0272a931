"""The contract as data: reads docs/contract.toml, finds the tests marked with its ids, and writes docs/contract.md."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from chatkey_conform.suite import cases

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "docs" / "contract.toml"
SUITE = "tests/refusals/test_suite.py"
"""The test that runs all cases of the suite, each of which names the sentences that it judges."""
TESTS = (ROOT / "tests", ROOT / "e2e" / "chatkey_e2e" / "scenarios")
LEVELS = ("must", "should", "kit")

HEAD = """\
# The contract, sentence by sentence

<!-- `nox -s docs -- --write` writes this page from contract.toml. -->

**must** and **should** are the public contract's own words. **kit** marks what this kit decided where the contract is
silent ([decisions](decisions.md)). The tests of a sentence name its id: `git grep 2.4/cnf.jkt` finds them.
"""


@dataclass(frozen=True)
class Entry:
    """One sentence: the stable id, the level of obligation, our wording, and the reason if there is no test."""

    id: str
    level: str
    text: str
    reason: str = ""

    @property
    def section(self) -> str:
        return self.id.partition("/")[0]


def entries() -> list[Entry]:
    """Return the entries in the order of the file."""
    return [Entry(**entry) for entry in tomllib.loads(SOURCE.read_text())["entry"]]


def marked_tests() -> dict[str, list[str]]:
    """Return the tests and the suite's cases that are marked with each id, as `path::name`."""
    found: dict[str, list[str]] = defaultdict(list)
    for case in cases():
        for contract_id in case.sentences:
            found[contract_id].append(f"{SUITE}::{case.id}")
    for folder in TESTS:
        for module in sorted(folder.rglob("*.py")):
            for name, contract_id in _marks(module):
                found[contract_id].append(f"{module.relative_to(ROOT)}::{name}")
    return dict(found)


def page() -> str:
    tests = marked_tests()
    parts = [HEAD]
    for section, group in groupby(entries(), key=lambda entry: entry.section):
        parts.append(f"\n## {section}\n")
        parts.extend(_entry(entry, tests.get(entry.id, [])) for entry in group)
    parts.append("\nNext: [the protocol](protocol.md), or the [decisions](decisions.md).\n")
    return "".join(parts)


def _entry(entry: Entry, tests: list[str]) -> str:
    shown = f"tests: {len(tests)}" if tests else entry.reason
    return f"\n### {entry.id}\n\n{entry.text}\n\n**{entry.level}** · {shown}\n"


def _marks(module: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                yield from ((node.name, contract_id) for contract_id in _ids(decorator))
        elif isinstance(node, ast.Assign) and "pytestmark" in map(ast.unparse, node.targets):
            yield from (("*", contract_id) for contract_id in _ids(node.value))
        elif isinstance(node, ast.Assign) and "SHOWS" in map(ast.unparse, node.targets):
            yield from ast.literal_eval(node.value).items()  # tests in another language, run by this module


def _ids(expression: ast.expr) -> Iterator[str]:
    for node in ast.walk(expression):
        match node:
            case ast.Call(func=ast.Attribute(attr="contract", value=ast.Attribute(attr="mark")), args=args):
                yield from (arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
