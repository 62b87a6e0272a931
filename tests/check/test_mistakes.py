"""Tests of how the checker recognises common mistakes with signing keys and jkts."""

from __future__ import annotations

import base64

import pytest

from chatkey_check import reading
from chatkey_check.mistakes import jkts, signatures, tokens

SECRET = "c2VjcmV0LXdpdGgtcGFkZGluZy1vZi10aGlydHktdHdvLWI="
JKT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
HEADER = reading.encoded(b'{"alg": "HS256"}')
PAYLOAD = reading.encoded(b'{"uid": "u"}')
NONE = reading.encoded(b'{"alg": "none"}')


def signed(key: bytes) -> str:
    segments = f"{HEADER}.{PAYLOAD}"
    return f"{segments}.{reading.encoded(reading.hs256(key, segments.encode()))}"


KEYS = list(signatures.keys(SECRET, "prov_1", {"STAGING": "another secret"}))
OTHER_KEYS = [made for made in KEYS if made.key != SECRET.encode()]
"""The mistakes that change this secret. Other mistakes leave this secret unchanged."""
CHANGES = [made for made in jkts._changes(JKT) if made[1] != JKT]


@pytest.mark.parametrize("made", OTHER_KEYS, ids=lambda made: made.cause)
def test_each_wrong_key_is_explained_by_a_cause_that_gives_that_very_key(made: signatures.Key) -> None:
    token = signed(made.key)

    wrong = signatures.explained(token, reading.compact(token), SECRET, "prov_1", {"STAGING": "another secret"})

    same = [other.cause for other in KEYS if other.key == made.key]
    assert wrong is not None
    assert wrong.message == f"The token is signed with {same[0]}."
    assert wrong.hint


def test_no_cause_is_named_for_an_unexplained_key() -> None:
    token = signed(b"\x00\x01 something else")

    assert signatures.explained(token, reading.compact(token), SECRET, None, {}) is None


@pytest.mark.parametrize("made", CHANGES, ids=lambda made: made[0])
def test_each_change_of_a_jkt_is_named(made: tuple[str, str]) -> None:
    cause = jkts.changed(JKT, made[1])

    first = next(what for what, text in CHANGES if text == made[1])
    assert cause is not None
    assert (cause.message, bool(cause.hint)) == (first, True)


@pytest.mark.parametrize(
    ("got", "message"),
    [
        (JKT[:32], "cut to 32 characters"),
        ("undefined", "the text of an unset variable"),
        (f"sha256:{JKT}", "inside a longer text"),
    ],
)
def test_a_jkt_cut_or_wrapped_is_named(got: str, message: str) -> None:
    cause = jkts.changed(JKT, got)

    assert cause is not None
    assert cause.message == message


def test_an_unrelated_jkt_is_not_explained_as_a_change() -> None:
    assert jkts.changed(JKT, JKT[::2] + JKT[1::2]) is None


@pytest.mark.parametrize("length", [16, 20, 48, 64, 71, 96, 256, 31])
def test_a_signature_of_the_wrong_length_is_refused_without_a_secret(length: int) -> None:
    compact = reading.Compact(b"{}", b"{}", b"\xf1" * length, b"")

    wrong = signatures.of_wrong_length(compact)

    assert f"{length} bytes" in wrong.message


@pytest.mark.parametrize("token", ["QQ.QQ.QQ", signed(b"k"), f"{NONE}.QQ."])
def test_a_token_in_compact_form_has_nothing_wrong_with_its_form(token: str) -> None:
    assert tokens.wrong_form(token) is None


def test_the_base64_decoded_secret_is_one_of_the_explained_keys() -> None:
    assert ("the secret decoded from base64", base64.b64decode(SECRET)) in [(made.cause, made.key) for made in KEYS]
