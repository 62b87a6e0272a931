"""Removes tokens and secrets from everything that is saved or shown for people to read."""

import json
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from chatkey_peer.forms import forms

BEGUN: Final = rb"e(?:yJ|yA|wo|w0)[A-Za-z0-9_-]{4,}"
"""The beginning of a JWT: a JSON object in base64url, with or without white space behind the brace."""
JWT: Final = re.compile(rb"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
SIGNED: Final = re.compile(
    BEGUN + rb"\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*|(?<=\bstate=)[^&\s\"']+|(?<=://)[^/\s@\"']+:[^/\s@\"']+(?=@)"
)
"""A token, the `state` of a login, which ends in a MAC, too, or the name and password of an address."""
SHOWN: Final = b"[redacted]"
SEEN_ENDS: Final = 6
"""Number of letters at either end by which a truncated secret is recognised."""
PIECE: Final = 12
"""Number of consecutive letters by which any part of a secret is recognised."""
SHORTEST: Final = 4
"""Shorter values are not hidden, because they would also remove letters from ordinary words."""

REST: Final = re.compile(
    r"(?:[\w-]*\.)+(?=[\w-]*[A-Z])(?=[\w-]*\d)[\w-]{43,}|(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{46,}(?:\.[\w-]+)*",
    re.ASCII,
)
"""What a comparison prints of a token whose beginning it leaves out. A thumbprint and a uid are shorter."""

PICTURES: Final = frozenset({".png", ".jpg", ".jpeg", ".webm"})
"""Files without text, which are not redacted."""


class Masks:
    """The door of every report: hides tokens and the given secrets, whole or cut, and in the usual encodings."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST}
        self._forms = sorted({form for secret in known for _, form in forms(secret)}, key=len, reverse=True)
        self._cut = [re.compile(r"eyJ[\w.-]*?\.\.\.[\w.-]*"), *(re.compile(_cut(secret)) for secret in known)]
        self._pieces = {form[at : at + PIECE] for form in self._forms for at in range(len(form) - PIECE + 1)}

    def text(self, text: str) -> str:
        """Return a text in which every token and every part of a secret is replaced."""
        for pattern in self._cut:
            text = pattern.sub(SHOWN.decode(), text)
        for form in self._forms:
            text = text.replace(form, SHOWN.decode())
        return redact(REST.sub(SHOWN.decode(), "".join(self._without_pieces(text))))

    def value(self, value: Any) -> Any:
        """Return a JSON value in which every text, and every name of a member, is masked."""
        if isinstance(value, dict):
            return {self.value(name): self.value(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(member) for member in value]
        return self.text(value) if isinstance(value, str) else value

    def _without_pieces(self, text: str) -> Iterator[str]:
        hidden = bytearray(len(text))
        for at in range(len(text) - PIECE + 1):
            if text[at : at + PIECE] in self._pieces:
                hidden[at : at + PIECE] = b"\1" * PIECE
        for is_hidden, places in groupby(range(len(text)), hidden.__getitem__):
            yield SHOWN.decode() if is_hidden else "".join(text[at] for at in places)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace everything that looks like a JWT, and all given secrets."""
    return redact_bytes(text.encode(errors="surrogateescape"), secrets).decode(errors="surrogateescape")


def redact_bytes(content: bytes, secrets: Iterable[str] = ()) -> bytes:
    """Replace JWTs and the given secrets in bytes, including secrets that are escaped as in JSON."""
    content = SIGNED.sub(SHOWN, content)
    for secret in secrets:
        content = content.replace(secret.encode(), SHOWN).replace(json.dumps(secret)[1:-1].encode(), SHOWN)
    return content


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
