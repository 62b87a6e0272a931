"""Reads and checks widget.toml, which describes a widget to judge with our service."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from chatkey_conform.data import revisions
from chatkey_conform.target import KnownFailures, TargetError, known_failures
from chatkey_protocol.names import REVISION

PARTS: Final = ("open", "message", "send", "lines", "sign_in", "social", "log_out")
"""The parts of a widget for which the file has a selector."""


class Tested(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table [widget]: the address of the script, and a selector for each of `PARTS`."""

    name: str
    version: str = ""
    script_url: str
    revision: int = REVISION
    selectors: dict[str, str]


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file widget.toml."""

    widget: Tested
    known_failures: KnownFailures = KnownFailures()


@dataclass(frozen=True)
class WidgetFile:
    """A widget to judge. Paths in the document are relative to `folder`."""

    document: Document
    folder: Path

    @property
    def widget(self) -> Tested:
        return self.document.widget

    @property
    def name(self) -> str:
        """The widget's name and version."""
        return " ".join(part for part in (self.widget.name, self.widget.version) if part)

    def known_failures(self) -> dict[str, str]:
        """Return the reasons for the known failures, by the ids of sentences or scenarios. Raises `TargetError`."""
        return known_failures(self.folder, self.document.known_failures)


def describes_widget(path: Path) -> bool:
    """Return whether the file describes a widget alone. A file that cannot be read does not."""
    try:
        tables = tomllib.loads(path.read_text("utf-8")).keys()
    except (OSError, ValueError):
        return False
    return "widget" in tables and "target" not in tables


def read_widget(path: Path) -> WidgetFile:
    """Read a widget.toml. Raises `TargetError`."""
    try:
        document = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Document)
        _check(document.widget)
    except OSError as error:
        raise TargetError(f"Cannot read {path}: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, ValueError) as error:
        raise TargetError(f"{path}: {error}.") from None
    return WidgetFile(document, path.resolve().parent)


def _check(widget: Tested) -> None:
    address = urlsplit(widget.script_url)
    if address.scheme not in {"http", "https"} or not address.hostname:
        raise ValueError(
            f"widget.script_url is {widget.script_url!r}; write an http or https URL, such as http://localhost:5173/sdk.js"
        )
    if widget.revision not in revisions():
        known = " and ".join(map(str, revisions()))
        raise ValueError(f"widget.revision is {widget.revision}; write a revision that this suite scores: {known}")
    if unknown := sorted(widget.selectors.keys() - set(PARTS)):
        raise ValueError(f"[widget.selectors] has {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    if missing := [part for part in PARTS if part not in widget.selectors]:
        raise ValueError(f"[widget.selectors] lacks {missing[0]!r}; write a selector for each part")
