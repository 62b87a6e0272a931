"""Tests of declared frames. Limits must also hold in optional members, nested objects and lists."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec
import pytest

from chatkey_protocol.frames import Between, Pattern
from chatkey_server.peers.declarations import kind_of, strict

Word = Annotated[str, Pattern("[a-z]+")]


class Inner(TypedDict, total=False):
    word: Word


class Frame(TypedDict):
    type: Literal["made up"]
    word: Word
    count: NotRequired[Annotated[int, Between(1, 3)] | None]
    inner: NotRequired[Inner]
    words: NotRequired[list[Word]]


def read(**members: object) -> object:
    return msgspec.json.decode(msgspec.json.encode({"type": "made up", "word": "a", **members}), type=strict(Frame))


@pytest.mark.parametrize(
    "members", [{}, {"count": 3}, {"count": None}, {"inner": {}}, {"inner": {"word": "b"}}, {"words": ["b", "c"]}]
)
def test_a_frame_within_the_limits_is_read(members: dict[str, object]) -> None:
    assert read(**members) == {"type": "made up", "word": "a", **members}


@pytest.mark.parametrize(
    "members",
    [{"word": "A"}, {"word": "a\n"}, {"count": 4}, {"count": 0}, {"inner": {"word": "B"}}, {"words": ["b", "C"]}],
)
def test_a_frame_beyond_the_limits_is_refused(members: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(**members)


def test_the_kind_of_a_frame_is_its_type() -> None:
    assert kind_of(Frame) == "made up"
