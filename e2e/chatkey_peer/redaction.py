"""Removes tokens and secrets from files that are saved for people to read."""

import json
import re
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

JWT: Final = re.compile(rb"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
SIGNED: Final = re.compile(rb"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?|(?<=\bstate=)[^&\s\"']+")
"""A token, or the `state` of a login, which ends in a MAC, too."""
SHOWN: Final = b"[redacted]"
SEEN_ENDS: Final = 6
"""Number of letters at either end by which a truncated secret is recognised."""

PICTURES: Final = frozenset({".png", ".jpg", ".jpeg", ".webm"})
"""Files without text, which are not redacted."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace everything that looks like a JWT, and all given secrets."""
    return redact_bytes(text.encode(errors="surrogateescape"), secrets).decode(errors="surrogateescape")


def redact_bytes(content: bytes, secrets: Iterable[str] = ()) -> bytes:
    """Replace JWTs and the given secrets in bytes, including secrets that are escaped as in JSON."""
    content = SIGNED.sub(SHOWN, content)
    for secret in secrets:
        content = content.replace(secret.encode(), SHOWN).replace(json.dumps(secret)[1:-1].encode(), SHOWN)
    return content


def redact_cut(text: str, secrets: Iterable[str] = ()) -> str:
    """Redact a text that may contain truncated words like `abcdef...uvwxyz`, as in pytest's comparisons."""
    for pattern in (r"eyJ[\w.-]*?\.\.\.[\w.-]*", *map(_cut, secrets)):
        text = re.sub(pattern, SHOWN.decode(), text)
    return redact(text, secrets)


def _cut(secret: str) -> str:
    begins, ends = re.escape(secret[:SEEN_ENDS]), re.escape(secret[-SEEN_ENDS:])
    return rf"{begins}\S{{0,99}}?\.\.\.\S{{0,99}}|\S{{0,99}}\.\.\.\S{{0,99}}?{ends}"


def redact_zip(archive: Path, secrets: Iterable[str] = ()) -> None:
    """Redact every entry of a trace file in place. Delete a truncated file, because it cannot be read."""
    secrets = tuple(secrets)
    clean = archive.with_suffix(".clean")
    try:
        with zipfile.ZipFile(archive) as source, zipfile.ZipFile(clean, "w", zipfile.ZIP_DEFLATED) as target:
            for entry in source.infolist():
                target.writestr(entry.filename, redact_bytes(source.read(entry), secrets))
    except zipfile.BadZipFile:
        clean.unlink(missing_ok=True)
        archive.unlink()
        return
    clean.replace(archive)


def redact_file(path: Path, secrets: Collection[str] = ()) -> None:
    """Redact a file's content and its name."""
    if path.suffix == ".zip":
        redact_zip(path, secrets)
    elif path.suffix not in PICTURES:
        content = path.read_bytes()
        if (clean := redact_bytes(content, secrets)) != content:
            path.write_bytes(clean)
    if path.exists() and (name := redact(path.name, secrets)) != path.name:
        path.rename(path.with_name(name))


def redact_folder(folder: Path, secrets: Collection[str] = ()) -> None:
    """Redact every file in a folder and its subfolders, if the folder exists."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        redact_file(path, secrets)
