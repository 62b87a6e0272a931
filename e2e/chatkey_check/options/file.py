"""Reads options from a file, `chatkey-check.toml`. Command-line options override the file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from chatkey_check.options.table import OPTIONS, Given, Kind, Option
from chatkey_check.target import OptionError

NAME: Final = "chatkey-check.toml"
URL: Final = "url"
TARGET: Final = "target"
NOT_IN_A_FILE: Final = "run"
SECRET: Final = re.compile(r"pass|secret|token|pin\b|otp", re.IGNORECASE)
OFFERED: Final = {option.name: option for option in OPTIONS if option.table != NOT_IN_A_FILE}


def merged(written: Mapping[str, Any], *, here: Path | None = None) -> Given:
    """Return the options of the command line, completed with the options of the file.

    The file is the one given with --config, or else the one in the folder `here`, if it exists. Raises `OptionError`.
    """
    found = here / NAME if here is not None else None
    path = written.get("config") or (found if found is not None and found.is_file() else None)
    given = {**(_read(path) if path is not None else {}), **written}
    if not given.get(URL):
        raise OptionError(
            f"Missing argument URL, the address of the endpoint. With --init, the address is saved in {NAME}."
        )
    return Given(**given)


def _read(path: Path) -> dict[str, Any]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"Cannot read --config {path}: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{path} is not valid TOML: {error}") from error
    return dict(pair for name, table in tables.items() for pair in _table(path, name, table))


def _table(path: Path, name: str, table: Any) -> Iterator[tuple[str, Any]]:
    names = sorted({option.table for option in OFFERED.values()})
    if name not in names or not isinstance(table, dict):
        raise OptionError(
            f"{path}: there is no table [{name}]. The tables are {', '.join(f'[{one}]' for one in names)}."
        )
    for key, value in table.items():
        if (name, key) == (TARGET, URL):
            yield URL, _text(path, key, value)
            continue
        option = OFFERED.get(key)
        if option is None or option.table != name:
            raise OptionError(f"{path}: {_misplaced(key, name, option)}")
        yield option.field, _value(path, option, value)


def _misplaced(key: str, name: str, option: Option | None) -> str:
    if option is not None:
        return f"{key} belongs to [{option.table}], not to [{name}]."
    near = get_close_matches(key, OFFERED, n=1)
    return f"there is no option {key}.{f' Did you mean {near[0]}?' if near else ''}"


def _value(path: Path, option: Option, value: Any) -> Any:
    """Convert a value to the type that the command line would give. Raises `OptionError`, which quotes no secret."""
    if option.many:
        items = value if isinstance(value, list) else [value]
        return tuple(_one(path, option, item) for item in items)
    return _one(path, option, value)


def _one(path: Path, option: Option, value: Any) -> Any:
    match option.kind:
        case Kind.FLAG if isinstance(value, bool):
            return value
        case Kind.SECONDS if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case Kind.FLAG | Kind.SECONDS:
            what = "true or false" if option.kind is Kind.FLAG else "a number of seconds"
            raise OptionError(f"{path}: {option.name} must be {what}.")
        case Kind.PATH:
            return path.parent / _text(path, option.name, value)
        case Kind.CHOICE if value not in option.choices:
            raise OptionError(f"{path}: {option.name} must be one of {', '.join(option.choices)}.")
        case _:
            return _without_secrets(path, option, _text(path, option.name, value))


def _without_secrets(path: Path, option: Option, text: str) -> str:
    """Return the text.

    Raises `OptionError` if the text is a secret, because the options file is stored with the code.
    """
    if option.kind is Kind.HEADER and option.table == "login":
        if not text.startswith("@"):
            raise OptionError(
                f"{path}: a session is secret and must not be in this file. Write {option.name} = '@FILE'."
            )
        return f"@{path.parent / text[1:]}"
    if option.kind is Kind.FIELD and SECRET.search(text.partition("=")[0]):
        env = option.name.replace("field", "field-env")
        raise OptionError(f"{path}: a password must not be in this file. Write {env} = 'NAME=VARIABLE'.")
    return text


def _text(path: Path, name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise OptionError(f"{path}: {name} must be a string.")
    return value
