"""Tests of the size of a frame, and of the error that refuses one."""

from __future__ import annotations

import json

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.writer import error
from chatkey_server.socket.connection import READER

LIMIT = 64 * 1024


def test_a_frame_of_the_limit_is_read_and_one_byte_more_is_too_big() -> None:
    text = json.dumps({"type": "search", "id": "1", "query": "é" * 100}, ensure_ascii=False)
    size = len(text.encode())

    assert READER.read(text, max_bytes=size)["type"] == "search"
    with pytest.raises(Refused) as refusal:
        READER.read(text, max_bytes=size - 1)
    assert refusal.value.code is Code.FRAME_TOO_LARGE


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
