"""Takes tokens and secrets out of what is kept for people to read."""

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path

JWT = re.compile(rb"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")
SHOWN = b"[redacted]"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Replace everything that looks like a JWT, and the given secrets."""
    return redact_bytes(text.encode(), secrets).decode()


def redact_bytes(content: bytes, secrets: Iterable[str] = ()) -> bytes:
    """Replace the same in bytes of any kind."""
    content = JWT.sub(SHOWN, content)
    for secret in secrets:
        content = content.replace(secret.encode(), SHOWN)
    return content


def redact_zip(archive: Path, secrets: Iterable[str] = ()) -> None:
    """Rewrite a trace in place with every entry redacted."""
    secrets = tuple(secrets)
    clean = archive.with_suffix(".clean")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(clean, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            target.writestr(entry.filename, redact_bytes(source.read(entry), secrets))
    clean.replace(archive)
