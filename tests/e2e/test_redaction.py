"""What is kept for people to read has no token and no secret in it."""

import zipfile
from pathlib import Path

import jwt

from chatkey_e2e.redaction import redact, redact_zip

SECRET = "the-provider's-secret-key-of-32-bytes"
TOKEN = jwt.encode({"uid": "u-1"}, SECRET, algorithm="HS256")


def test_tokens_and_secrets_are_replaced_and_the_rest_stays() -> None:
    shown = redact(f"GET /x?auth={TOKEN}&jkt=abc {SECRET} é", [SECRET])

    assert shown == "GET /x?auth=[redacted]&jkt=abc [redacted] é"


def test_every_entry_of_a_trace_is_redacted(tmp_path: Path) -> None:
    trace = tmp_path / "trace.zip"
    with zipfile.ZipFile(trace, "w") as archive:
        archive.writestr("trace.network", f'{{"url": "?auth={TOKEN}"}}')
        archive.writestr("resources/page.html", b"\xff" + SECRET.encode())

    redact_zip(trace, [SECRET])

    with zipfile.ZipFile(trace) as archive:
        assert archive.read("trace.network") == b'{"url": "?auth=[redacted]"}'
        assert archive.read("resources/page.html") == b"\xff[redacted]"
    assert list(tmp_path.iterdir()) == [trace]
