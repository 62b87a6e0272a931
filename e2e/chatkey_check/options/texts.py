"""Parses the values of options. An error message says what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from chatkey_check.exchange import Header, origin
from chatkey_check.target import OptionError


def checked_url(text: str, option: str) -> str:
    """Return an absolute http(s) address unchanged. Raises `OptionError` for anything else."""
    try:
        parts = urlsplit(text)
        port_fits = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        port_fits, parts = False, urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_fits:
        raise OptionError(f"{option} must be an address such as https://shop.localhost:8443/chat/token.")
    if parts.username or parts.password:
        raise OptionError(f"{option} must not contain a user name or password. Use --header 'Authorization: …'.")
    if parts.fragment:
        raise OptionError(f"{option} must not contain a fragment (the part after #).")
    return text


def checked_origin(text: str, option: str) -> str:
    """Return the serialised origin of an address that has no path. Raises `OptionError`."""
    checked_url(text, option)
    parts = urlsplit(text)
    if parts.path not in {"", "/"} or parts.query:
        raise OptionError(f"{option} must be an origin such as https://shop.example, without a path.")
    return origin(text)


def headers(lines: Iterable[str], option: str) -> Iterator[Header]:
    """Yield the headers in `lines`: `Name: value`, or `@FILE` for a file of such lines. Raises `OptionError`."""
    for line in lines:
        if not line.startswith("@"):
            yield _header(line, option)
            continue
        for inner in content(Path(line[1:]), option).splitlines():
            if inner.strip():
                yield _header(inner, f"{option} {line}")


def _header(line: str, option: str) -> Header:
    """Parse `Name: value`. Raises `OptionError` without quoting the value."""
    name, colon, value = line.partition(":")
    if not colon or not name.strip() or any(char in line for char in "\r\n\0"):
        raise OptionError(f"{option} must look like 'Cookie: sid=…': a header's name, a colon and its value.")
    return name.strip(), value.strip()


def pair(entry: str, option: str) -> tuple[str, str]:
    """Parse `NAME=VALUE`. Raises `OptionError` without quoting the value."""
    name, equals, value = entry.partition("=")
    if not equals or not name:
        raise OptionError(f"{option} must look like NAME=VALUE.")
    return name, value


def address(entry: str) -> tuple[str, str]:
    """Parse the value `HOST=ADDRESS` of --connect-to. Raises `OptionError`."""
    host, equals, to = entry.partition("=")
    if not equals or not host or not to:
        raise OptionError(f"--connect-to must look like shop.example=127.0.0.1, not {entry!r}.")
    return host.lower(), to.strip("[]")


def content(path: Path, option: str) -> str:
    """Return the content of a file. Raises `OptionError`."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"Cannot read {option} {path}: {error}") from error


def variable(name: str, option: str, environ: Mapping[str, str]) -> str:
    """Return the value of an environment variable.

    Raises `OptionError`, without quoting a name that may itself be a secret.
    """
    value = environ.get(name)
    if value:
        return value
    what = "is not set" if value is None else "is empty"
    looks_like_value = len(name) > 24 or not name.replace("_", "").isalnum()
    if looks_like_value:
        raise OptionError(
            f"{option} needs the name of an environment variable, not the secret itself. The given variable {what}."
        )
    raise OptionError(
        f"{option} {name}: this environment variable {what}. The option needs a variable's name, not the secret."
    )
