"""The data files of the suite: the contract's sentences, the JSON Schemas, and the list of scored sentences."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

HERE: Final = Path(__file__).parent
DOCS: Final = Path(__file__).parents[3] / "docs"
"""The docs folder of a checkout. In the wheel, copies of the required files are next to this module."""


def shipped(name: str) -> Path:
    """Return the path of a file of docs/. Works in an installed package too."""
    inside = HERE / "docs" / name
    return inside if inside.exists() else DOCS / name


@cache
def contract() -> dict[str, dict[str, str]]:
    """Return the sentences of the contract by their ids, each with `level` and `text`."""
    entries = tomllib.loads(shipped("contract.toml").read_text("utf-8"))["entry"]
    return {entry["id"]: entry for entry in entries}


@cache
def contract_version() -> str:
    """Return the number of the contract's sentences and a hash, which identify this version of the contract."""
    import hashlib  # noqa: PLC0415 - for one line of a report

    text = shipped("contract.toml").read_bytes()
    return f"{len(contract())} sentences, {hashlib.sha256(text).hexdigest()[:12]}"


@cache
def revisions() -> tuple[int, ...]:
    """Return the revisions of the profile that have a list of scored sentences."""
    return tuple(map(int, _revisions()))


@cache
def scored(revision: int) -> dict[str, frozenset[str]]:
    """Return the sentences that are scored in a revision of the profile, separately for services and for widgets.

    A revision also scores the sentences of earlier revisions.
    """
    found: dict[str, frozenset[str]] = {}
    for number, sides in _revisions().items():
        if int(number) <= revision:
            found |= {side: found.get(side, frozenset()) | {*ids} for side, ids in sides.items()}
    return found


@cache
def elsewhere() -> dict[str, list[str]]:
    """Return the *must* sentences that no revision scores for a service, by the part that judges them."""
    found: dict[str, list[str]] = _document()["elsewhere"]
    return found


def _revisions() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = _document()["revision"]
    return found


@cache
def later() -> dict[str, list[str]]:
    """Return the entries for the cases that were added after their revision was published, by the date.

    An entry is the id of a case, or the beginning of several ids with `*`.
    """
    found: dict[str, list[str]] = _later()["added"]
    return found


@cache
def added_on(case: str) -> str:
    """Return the date on which a case was added to a published revision, or an empty text for all other cases."""
    return next((date for date, entries in later().items() if any(fits(entry, case) for entry in entries)), "")


def published(revision: int) -> str:
    """Return the date on which a revision of the profile was published."""
    return str(_later()["published"][str(revision)])


def fits(entry: str, case: str) -> bool:
    """Return whether an entry, which may end with `*`, is for a case."""
    return case.startswith(entry[:-1]) if entry.endswith("*") else case == entry


@cache
def _later() -> dict[str, Any]:
    return tomllib.loads((HERE / "later.toml").read_text("utf-8"))


@cache
def _document() -> dict[str, Any]:
    return tomllib.loads((HERE / "scored.toml").read_text("utf-8"))


@cache
def schema(name: str) -> Draft202012Validator:
    """Return the validator of a published schema, which accepts undeclared members."""
    made: Any = json.loads((shipped("schemas") / f"{name}.json").read_text("utf-8"))
    return Draft202012Validator(made)


def misfit(name: str, value: Any) -> str:
    """Return why a value does not match a published schema, or an empty text if it matches."""
    error = next(schema(name).iter_errors(value), None)
    return "" if error is None else f"does not match docs/schemas/{name}.json: {error.message[:200]}"
