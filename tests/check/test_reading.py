"""Tests of the checker's parsers.

The parsers must be strict with tokens, as the server's socket is, and lenient with responses, as browsers are.
"""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chatkey_check import reading
from chatkey_check.exchange import Exchange, Request, Response

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "published.json").read_text())
RFC7515_A1 = VECTORS["RFC 7515 A.1"]


@pytest.mark.contract("2.4/hs256")
def test_rfc7515_a1_verifies_with_its_key_and_with_no_other() -> None:
    compact = reading.compact(RFC7515_A1["jws"])
    key = reading.decoded(RFC7515_A1["k"])

    assert compact.signature == reading.hs256(key, compact.signed)
    assert compact.signature != reading.hs256(key[:-1], compact.signed)
    assert reading.strict_object(compact.payload)["iss"] == "joe"


@pytest.mark.parametrize("jkt", [vector["jkt"] for vector in VECTORS.values() if "jkt" in vector])
def test_published_thumbprints_are_canonical(jkt: str) -> None:
    assert len(reading.decoded(jkt)) == reading.SHA256_BYTES


@pytest.mark.parametrize(
    ("segment", "reason"),
    [
        ("QQ==", "not canonical base64url"),
        ("QR", "not canonical base64url"),
        ("Q", "not base64url"),
        ("Q+==", "not canonical base64url"),
        ("Q Q", "not base64url"),
        ("Qü", "not base64url"),
    ],
)
def test_a_segment_that_is_not_canonical_base64url_is_refused(segment: str, reason: str) -> None:
    with pytest.raises(reading.Unreadable) as refused:
        reading.decoded(segment)

    assert refused.value.reason.startswith(reason)


@pytest.mark.parametrize(
    ("token", "member", "reason"),
    [
        ("a.b", "", "it has 2 parts"),
        ("opaque", "", "it has one part"),
        ("QQ.QQ.QQ.QQ", "", "it has 4 parts"),
        (".QQ.QQ", "header", "its header is empty"),
        ("QQ..QQ", "payload", "its payload is empty"),
        ("QQ.QQ.Q=", "signature", "its signature is not base64url"),
        ("QQ.Q\nQ.QQ", "payload", "its payload is not base64url"),
    ],
)
def test_a_token_that_is_not_three_segments_is_refused_with_the_one_at_fault(
    token: str, member: str, reason: str
) -> None:
    with pytest.raises(reading.Unreadable) as refused:
        reading.compact(token)

    assert refused.value.member == member
    assert refused.value.reason.startswith(reason)


def test_an_empty_signature_is_not_refused_by_the_reader() -> None:
    assert reading.compact("QQ.QQ.").signature == b""


@pytest.mark.parametrize(
    ("raw", "member", "reason"),
    [
        (b'\xef\xbb\xbf{"a": 1}', "", "it begins with a byte order mark"),
        (b'{"a": 1, "a": 2}', "a", '"a" appears twice'),
        (b'{"b": [{"a": 1, "a": 1}]}', "a", '"a" appears twice'),
        (b'{"a": NaN}', "", "NaN is not JSON"),
        (b'{"a": "\xe9"}', "", "it is not UTF-8"),
        (b"[]", "", "it is an array, not a JSON object"),
        (b'"{}"', "", "it is a string, not a JSON object"),
        (b"{", "", "it is not JSON"),
        (b"[" * 100_000, "", "it is not JSON"),
    ],
)
def test_ambiguous_claims_are_refused(raw: bytes, member: str, reason: str) -> None:
    with pytest.raises(reading.Unreadable) as refused:
        reading.strict_object(raw)

    assert (refused.value.member, refused.value.reason) == (member, reason)


@pytest.mark.parametrize(
    "body",
    [b'{"token": "a"}', b'\xef\xbb\xbf{"token": "a"}', b'\n {"token": "a"} \r\n', b'{"token": "b", "token": "a"}'],
)
def test_json_that_a_browser_reads_is_read(body: bytes) -> None:
    assert reading.browser_json(reading.body_text(body)) == {"token": "a"}


@pytest.mark.parametrize("body", [b"", b"{'token': 1}", b'{"token": NaN}', '{"token": 1}'.encode("utf-16"), b"[1,]"])
def test_json_that_a_browser_does_not_read_is_refused(body: bytes) -> None:
    with pytest.raises(reading.Unreadable):
        reading.browser_json(reading.body_text(body))


@pytest.mark.parametrize(
    ("value", "text"),
    [("a\nb\x00", '"a\\nb\\u0000"'), ("x" * 100, '"' + "x" * 78 + "…"), ("渡辺", '"渡辺"'), (None, "null")],
)
def test_a_value_is_shown_on_one_line_and_cut_short(value: object, text: str) -> None:
    assert reading.shown(value) == text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:09 GMT", "Date": "Thu, 01 Jan 2026 12:00:00 GMT"}, 9.0),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:09 GMT"}, 6.0),
        ({"Retry-After": "Thu, 01 Jan 1998 12:00:09 GMT"}, 0.0),
        ({"Retry-After": "soon"}, math.inf),
        ({}, math.inf),
    ],
)
def test_how_long_an_endpoint_asks_to_wait_is_read_as_seconds_and_as_a_date(
    headers: dict[str, str], seconds: float
) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()

    answer = Exchange(
        Request("a call", "POST", "http://x/"), Response(429, (*headers.items(),), b""), None, noon + 1, 2
    )

    assert answer.patience == seconds


@pytest.mark.parametrize(("arrays", "is_read"), [(reading.MOST_BRACKETS - 1, True), (reading.MOST_BRACKETS, False)])
def test_claims_with_too_many_brackets_are_not_read(*, arrays: int, is_read: bool) -> None:
    claims: dict[str, object] = {"list": [[]] * (arrays - 1)}

    read = reading.lenient_claims(f".{reading.encoded(json.dumps(claims).encode())}")

    assert read == (claims if is_read else {})
