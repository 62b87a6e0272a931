import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_server.identity import encoding


@given(st.binary(max_size=64))
def test_encoding_and_decoding_returns_the_same_bytes(raw: bytes) -> None:
    assert encoding.decode(encoding.encode(raw)) == raw


@pytest.mark.contract("D-05/strict-reading")
@given(st.text(max_size=12))
def test_only_the_one_canonical_spelling_decodes(text: str) -> None:
    try:
        raw = encoding.decode(text)
    except encoding.Malformed:
        return

    assert encoding.encode(raw) == text


@pytest.mark.parametrize("text", ["QQ==", "QQ=", "QR", "Q", "Q Q", "QQ\n", "Q+8", "Q/8", "\uff31\uff31", "QQ%3D"])
def test_other_spellings_of_base64url_are_refused(text: str) -> None:
    with pytest.raises(encoding.Malformed):
        encoding.decode(text)


@pytest.mark.contract("D-05/strict-reading")
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"a":1,"a":2}', "twice"),
        (b'{"a":{"b":1,"b":2}}', "twice"),
        (b'{"uid":1,"u\\u0069d":2}', "twice"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":1e400}', "outside the range"),
        (b'{"a":1}}', "not JSON"),
        (b'\xef\xbb\xbf{"a":1}', "not JSON"),
        ('{"a":1}'.encode("utf-16"), "not JSON"),
        (b'{"a":"\xff"}', "not JSON"),
        (b"[" * 5000, "not JSON"),
        (b'{"a":' + b"[" * 32 + b"]" * 32 + b"}", "32 levels"),
        (b'{"a":' + b"9" * 5000 + b"}", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"", "not JSON"),
    ],
)
def test_ambiguous_json_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(encoding.Malformed, match=why):
        encoding.json_object(raw)


def test_finding_a_repeated_member_takes_linear_time() -> None:
    """An unauthenticated peer may send a 64 kB frame.

    An earlier version compared each name with all others, which took three seconds.
    """

    def spent(last: str) -> float:
        raw = ("{" + ",".join(f'"{number:x}":1' for number in range(7000)) + f',"{last}":1}}').encode()
        started = time.process_time()
        with suppress(encoding.Malformed):
            encoding.json_object(raw)
        return time.process_time() - started

    assert min(spent("1b57") for _ in range(5)) < 10 * min(spent("other") for _ in range(5))


def test_the_first_member_that_repeats_is_the_one_named() -> None:
    with pytest.raises(encoding.Malformed, match="member 'a' occurs twice"):
        encoding.json_object(b'{"a":1,"b":2,"c":3,"b":4,"a":5}')


@pytest.mark.parametrize(
    "inside",
    [
        b"[" * 31 + b"]" * 31,
        b"[" * 31 + b"]" * 30 + b",[]]",
        b"[" + b"{}," * 100 + b"0]",
        b'"' + b"[" * 100 + b'"',
    ],
)
def test_json_of_32_levels_is_read_and_so_are_many_brackets(inside: bytes) -> None:
    assert "a" in encoding.json_object(b'{"a":' + inside + b"}")


def test_plain_json_is_read() -> None:
    assert encoding.json_object(b' {"a": [1, {"b": null}], "c": 1.5} \n') == {"a": [1, {"b": None}], "c": 1.5}


@pytest.mark.parametrize(
    "text", ["", ".", "..", "...", "a.b", "a.b.c.d", "QQ.QQ.QQ.", " QQ.QQ.QQ", "QQ.QQ.QQ\n", "QQ..QQ"]
)
def test_anything_but_three_segments_is_refused(text: str) -> None:
    with pytest.raises(encoding.Malformed):
        encoding.split(text)


def test_three_segments_are_split_with_the_bytes_that_were_signed() -> None:
    compact = encoding.split("aGVhZA.Ym9keQ.c2ln")

    assert compact == ("aGVhZA", "Ym9keQ", b"sig", b"aGVhZA.Ym9keQ")
