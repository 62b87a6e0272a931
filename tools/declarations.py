"""Reads `sdk.d.ts`: makes tables of events and handle for the integrators' page, and writes the codes to the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "widget_sim" / "page" / "sdk.d.ts"
ENTRY: Final = re.compile(
    r'^    /\*\* (?P<text>.+?) \*/\n    "?(?P<name>[\w:]+)"?: (?P<type>[^;{]+|\{.*?\});$', re.MULTILINE | re.DOTALL
)
MEMBER: Final = re.compile(
    r"^    (?:/\*\* (?P<text>.+?) \*/\n    )?(?:readonly )?(?P<name>\w+)(?P<rest>[(:<?].*?);$", re.MULTILINE | re.DOTALL
)
CODES: Final = re.compile(r"(?<=    // codes\n).*?(?=  // end\n)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Event:
    """An event, the members of its detail, and the meaning of the event."""

    name: str
    members: tuple[str, ...]
    text: str


def events() -> list[Event]:
    """Return all events, in the order of the file."""
    return [
        Event(entry["name"], tuple(_members(entry["type"])), entry["text"])
        for entry in ENTRY.finditer(block("interface Events"))
    ]


def handle() -> dict[str, str]:
    """Return the members of the handle (methods with `()`) and their descriptions."""
    found = [member for member in MEMBER.finditer(block("interface Handle")) if member["text"]]
    return {member["name"] + ("" if member["rest"][0] == ":" else "()"): member["text"] for member in found}


def names(kind: str) -> list[str]:
    """Return the names of the members of an interface such as `interface Config`."""
    return list(dict.fromkeys(member["name"] for member in MEMBER.finditer(block(kind))))


def codes() -> list[str]:
    found = CODES.search(FILE.read_text())
    return re.findall(r'"(\w+)"', found[0]) if found else []


def with_codes(text: str, known: list[str]) -> str:
    """Return the text of the file with these codes in `ErrorCode`."""
    lines = "".join(f'    | "{code}"\n' for code in known)
    return CODES.sub(lambda _: f"{lines.removesuffix(chr(10))};\n", text)


def block(opening: str) -> str:
    """Return the text between the braces of a declaration."""
    found = re.search(rf"^  {re.escape(opening)}\b[^\n]*\{{\n(.*?)^  \}}$", FILE.read_text(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"sdk.d.ts has no {opening}")
    return found[1]


def _members(kind: str) -> Iterator[str]:
    if kind == "Nothing":
        return
    yield from re.findall(r"readonly (\w+)\??:", kind if kind.startswith("{") else block(f"interface {kind}"))
