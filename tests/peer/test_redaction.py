"""Tests that files saved for people to read contain no token and no secret."""

import zipfile
from pathlib import Path

import jwt
import pytest

from chatkey_peer.redaction import redact, redact_cut, redact_zip

SECRET = "the-provider's-secret-key-of-32-bytes"
TOKEN = jwt.encode({"uid": "u-1"}, SECRET, algorithm="HS256")


def test_tokens_and_secrets_are_replaced_and_the_rest_stays() -> None:
    shown = redact(f"GET /x?auth={TOKEN}&jkt=abc {SECRET} é", [SECRET])

    assert shown == "GET /x?auth=[redacted]&jkt=abc [redacted] é"


@pytest.mark.parametrize(
    "cut", [*(f"{TOKEN[:end]}...{TOKEN[-12:]}" for end in range(9, 50)), f"{SECRET[:9]}...", f"...{SECRET[-9:]}", TOKEN]
)
def test_a_truncated_secret_is_recognised_by_its_ends(cut: str) -> None:
    shown = redact_cut(f"assert '{cut}' == 'x' ... and so on", [SECRET])

    assert not any(piece in shown for piece in (TOKEN[:9], TOKEN[-6:], SECRET[:6], SECRET[-6:]))
    assert shown.startswith(("assert '[redacted]", "assert [redacted]"))
    assert shown.endswith("== 'x' ... and so on")


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
