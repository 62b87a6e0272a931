"""Checks the widget's events against `sdk.d.ts`, which declares them for integrators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType
from typing import Final

from tools import declarations

PLAIN: Final[Mapping[str, tuple[type, ...]]] = {"string": (str,), "number": (int, float), "null": (NoneType,)}
MEMBER: Final = re.compile(r"readonly (\w+): ([^;]+);")


def _details() -> dict[str, dict[str, str]]:
    """Return the members of every event's detail, each with its type."""
    found = {}
    for entry in declarations.ENTRY.finditer(declarations.block("interface Events")):
        kind = entry["type"]
        body = kind if kind[0] == "{" or kind == "Nothing" else declarations.block(f"interface {kind}")
        found[entry["name"]] = dict(MEMBER.findall(body.replace(" }", "; }")))
    return found


DETAILS: Final = _details()


def emitted(name: str, detail: Mapping[str, object]) -> None:
    """Check that an event is declared, and has the declared members, of the declared types."""
    members = DETAILS[name]
    assert detail.keys() == members.keys(), name
    wrong = {member: value for member, value in detail.items() if not _is_of(members[member], value)}
    assert not wrong, f"{name}: {wrong}"


def _is_of(kind: str, value: object) -> bool:
    """Return whether a value has a type. For a named type, every value except null is accepted."""
    return any(_is_one_of(each.strip(), value) for each in kind.split("|"))


def _is_one_of(kind: str, value: object) -> bool:
    if kind.startswith('"'):
        return value == kind.strip('"')
    if kind == "boolean" or isinstance(value, bool):
        return kind == "boolean" and isinstance(value, bool)
    return isinstance(value, PLAIN[kind]) if kind in PLAIN else value is not None
