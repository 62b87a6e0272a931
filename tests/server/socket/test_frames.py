"""Tests that frames are parsed strictly. The server must refuse invalid frames with an error that names the fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_protocol.codes import Close, Code
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.writer import error
from chatkey_server.socket.connection import READER

LIMIT = 64 * 1024


def refused(text: str, max_bytes: int = LIMIT) -> tuple[Code, Close, str | None]:
    with pytest.raises(Refused) as refusal:
        READER.read(text, max_bytes=max_bytes)
    return refusal.value.code, refusal.value.meaning.close, refusal.value.member


@pytest.mark.parametrize(
    "sent",
    [
        {"type": "connect", "token": "t", "proof": "p"},
        {"type": "refresh", "token": "t"},
        {"type": "message", "id": "a-Z_9", "body": "hi"},
        {"type": "message", "id": "1", "body": "hi", "headers": {"name": "Ann"}},
        {"type": "message", "id": "1", "body": "hi", "headers": {"name": None}},
        {"type": "message", "id": "1", "body": "hi", "headers": {}},
        {"type": "history", "id": "1"},
        {"type": "history", "id": "1", "before": 7, "limit": 3},
        {"type": "history", "id": "1", "before": None},
        {"type": "search", "id": "1", "query": "x"},
        {"type": "call", "id": "1", "action": "start"},
        {"type": "ping"},
    ],
)
def test_every_kind_is_read_as_it_was_sent(sent: dict[str, Any]) -> None:
    assert READER.read(json.dumps(sent), max_bytes=LIMIT) == sent


def test_members_of_a_later_version_are_ignored() -> None:
    text = '{"type":"message","id":"1","body":"hi","since":"later","headers":{"name":"Ann","since":"later"}}'

    assert READER.read(text, max_bytes=LIMIT) == {
        "type": "message",
        "id": "1",
        "body": "hi",
        "headers": {"name": "Ann"},
    }


@pytest.mark.parametrize(
    ("text", "member"),
    [
        ("", None),
        ("{", None),
        ("null", None),
        ("[]", None),
        ('"ping"', None),
        ("\ufeff" + '{"type":"ping"}', None),
        ('{"type":"ping"} x', None),
        ('{"type":"ping","type":"connect"}', None),
        ('{"type":"message","id":"1","body":"a","headers":{"name":"a","name":"b"}}', None),
        ('{"type":"ping","x":NaN}', None),
        ("[" * 60_000, None),
        ('{"type":"ping","x":1e999}', None),
        ('{"type":"ping","x":' + "[" * 10_000 + "]" * 10_000 + "}", None),
        ('{"type":"message","id":"1","body":"\ud800"}', None),
        ('{"type":"message","id":"1","body":"\\ud800"}', None),
        ("{}", "type"),
        ('{"type":"hello"}', "type"),
        ('{"type":"Ping"}', "type"),
        ('{"type":null}', "type"),
        ('{"type":["ping"]}', "type"),
        ('{"type":"connect","token":"t"}', None),
        ('{"type":"connect","token":null,"proof":"p"}', "token"),
        ('{"type":"message","id":"","body":"a"}', "id"),
        ('{"type":"message","id":"a b","body":"a"}', "id"),
        ('{"type":"message","id":"a\\n","body":"a"}', "id"),
        ('{"type":"message","id":"' + "a" * 65 + '","body":"a"}', "id"),
        ('{"type":"message","id":7,"body":"a"}', "id"),
        ('{"type":"message","id":"1","body":7}', "body"),
        ('{"type":"message","id":"1","body":"a","headers":[]}', "headers"),
        ('{"type":"message","id":"1","body":"a","headers":{"name":1}}', "headers.name"),
        ('{"type":"history","id":"1","before":0}', "before"),
        ('{"type":"history","id":"1","before":2147483648}', "before"),
        ('{"type":"history","id":"1","before":1.5}', "before"),
        ('{"type":"history","id":"1","before":51.0}', "before"),
        ('{"type":"history","id":"1","limit":2e1}', "limit"),
        ('{"type":"history","id":"1","before":true}', "before"),
        ('{"type":"history","id":"1","limit":51}', "limit"),
        ('{"type":"call","id":"1","action":"accept"}', "action"),
    ],
)
def test_anything_else_is_a_bad_frame(text: str, member: str | None) -> None:
    assert refused(text) == (Code.FRAME_INVALID, Close.BAD_FRAME, member)


def test_a_frame_of_the_limit_is_read_and_one_byte_more_is_too_big() -> None:
    text = json.dumps({"type": "search", "id": "1", "query": "é" * 100}, ensure_ascii=False)
    size = len(text.encode())

    assert READER.read(text, max_bytes=size)["type"] == "search"
    assert refused(text, size - 1) == (Code.FRAME_TOO_LARGE, Close.TOO_BIG, None)


@pytest.mark.parametrize(
    "text",
    [
        '{"type":"eyJhbGciOiJIUzI1NiJ9.secret.token"}',
        '{"type":"call","id":"1","action":"eyJhbGciOiJIUzI1NiJ9.secret.token"}',
        '{"type":"message","id":"eyJhbGciOiJIUzI1NiJ9.secret.token","body":""}',
    ],
)
def test_a_refusal_does_not_repeat_what_was_sent(text: str) -> None:
    with pytest.raises(Refused) as refusal:
        READER.read(text, max_bytes=LIMIT)

    assert "secret" not in refusal.value.message


@given(
    st.one_of(st.text(), st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists).map(json.dumps))
)
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    try:
        READER.read(text, max_bytes=LIMIT)
    except Refused as refusal:
        assert refusal.code is Code.FRAME_INVALID  # noqa: PT017 - most inputs are refused, none may do worse


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8), st.lists, max_leaves=5)


@given(
    st.sampled_from(sorted(READER.kinds)),
    st.dictionaries(
        st.sampled_from(["id", "body", "token", "proof", "query", "action", "headers", "before", "limit"]), _JSON
    ),
)
def test_no_members_of_a_kind_raise_anything_but_a_refusal(kind: str, members: dict[str, Any]) -> None:
    try:
        frame = READER.read(json.dumps({**members, "type": kind}), max_bytes=LIMIT)
    except Refused as refusal:
        assert refusal.code is Code.FRAME_INVALID  # noqa: PT017 - most inputs are refused, none may do worse
    else:
        assert frame["type"] == kind


def test_a_refusal_is_a_frame_with_its_cause_and_the_id_it_answers() -> None:
    refusal = Refused(Code.RATE_LIMITED, "Slower.", cause="a loop")

    assert error(refusal, "m1") == {
        "type": "error",
        "code": "rate_limited",
        "message": "Slower.",
        "retryable": True,
        "cause": "a loop",
        "id": "m1",
    }
    assert error(Refused(Code.FRAME_INVALID, "No.")) == {
        "type": "error",
        "code": "frame_invalid",
        "message": "No.",
        "retryable": False,
    }
