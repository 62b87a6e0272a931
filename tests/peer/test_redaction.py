"""Tests that files saved for people to read contain no token and no secret."""

import base64
import json
import zipfile
from pathlib import Path
from urllib.parse import quote

import jwt
import pytest

from chatkey_conform.suite import cases
from chatkey_peer.redaction import Masks, redact, redact_zip

SECRET = "the-provider's-secret-key-of-32-bytes"
TOKEN = jwt.encode({"uid": "u-1"}, SECRET, algorithm="HS256")


def test_tokens_and_secrets_are_replaced_and_the_rest_stays() -> None:
    shown = redact(f"GET /x?auth={TOKEN}&jkt=abc {SECRET} é", [SECRET])

    assert shown == "GET /x?auth=[redacted]&jkt=abc [redacted] é"


@pytest.mark.parametrize(
    "cut", [*(f"{TOKEN[:end]}...{TOKEN[-12:]}" for end in range(9, 50)), f"{SECRET[:9]}...", f"...{SECRET[-9:]}", TOKEN]
)
def test_a_truncated_secret_is_recognised_by_its_ends(cut: str) -> None:
    shown = Masks([SECRET]).text(f"assert '{cut}' == 'x' ... and so on")

    assert not any(piece in shown for piece in (TOKEN[:9], TOKEN[-6:], SECRET[:6], SECRET[-6:]))
    assert shown.startswith(("assert '[redacted]", "assert [redacted]"))
    assert shown.endswith("== 'x' ... and so on")


@pytest.mark.parametrize("secrets", [(), (SECRET, TOKEN)], ids=["unknown", "known"])
def test_the_rest_of_a_token_whose_beginning_a_comparison_leaves_out_is_replaced(secrets: tuple[str, ...]) -> None:
    shown = {Masks(secrets).text(f"  - {TOKEN[begins:]}'\n  + null") for begins in range(len(TOKEN) - 43)}

    assert shown == {"  - [redacted]'\n  + null"}


@pytest.mark.parametrize(
    "written",
    [
        json.dumps({"a": f'"{SECRET}'}),
        quote(SECRET, safe=""),
        base64.b64encode(f"{{{SECRET}}}".encode()).decode(),
        SECRET.encode().hex(),
        SECRET[3:-3],
    ],
)
def test_a_secret_is_replaced_in_every_encoding(written: str) -> None:
    shown = Masks([SECRET]).text(written)

    assert "[redacted]" in shown
    assert not any(written[at : at + 12] in shown for at in range(6, len(written) - 18))


def test_ids_thumbprints_and_addresses_stay() -> None:
    text = "\n".join([*(case.id for case in cases()), f"v_{'aB3' * 14}x", "https://a.example/v1/public/provider/p_1"])

    assert Masks(["Zt9-kQ2vXw7LmB4rY8sN1pD6"]).text(text) == text


def test_a_password_in_an_address_is_replaced() -> None:
    assert Masks().text("at https://ada:pw@chat.example/") == "at https://[redacted]@chat.example/"


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
