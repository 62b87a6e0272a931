"""Refused chat frames: frames that violate the schema, and valid frames that cannot be carried out."""

from __future__ import annotations

import json
from typing import Any

from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite import chat
from chatkey_conform.suite.chat import stays
from chatkey_peer.key import Json

FAMILY = chat.FAMILY

UNFIT: dict[str, Json] = {
    "limit-0": {"type": "history", "id": "h-1", "limit": 0},
    "limit-51": {"type": "history", "id": "h-1", "limit": 51},
    "before-0": {"type": "history", "id": "h-1", "before": 0},
    "id-with-a-space": {"type": "history", "id": "h 1"},
    "id-of-65": {"type": "history", "id": "h" * 65},
    "no-id": {"type": "history"},
    "empty-id": {"type": "history", "id": ""},
    "id-number": {"type": "message", "id": 5, "body": "Hello"},
    "limit-text": {"type": "history", "id": "h-1", "limit": "20"},
    "limit-fraction": {"type": "history", "id": "h-1", "limit": 20.5},
    "limit-whole-fraction": {"type": "history", "id": "h-1", "limit": 20.0},
    "before-whole-fraction": {"type": "history", "id": "h-1", "before": 51.0},
    "headers-text": {"type": "message", "id": "m-1", "body": "Hello", "headers": "Ada"},
    "name-number": {"type": "message", "id": "m-1", "body": "Hello", "headers": {"name": 5}},
    "no-query": {"type": "search", "id": "s-1"},
    "no-action": {"type": "call", "id": "c-1"},
    "body-number": {"type": "message", "id": "m-1", "body": 5},
    "no-body": {"type": "message", "id": "m-1"},
    "unknown": {"type": "typing", "id": "t-1"},
    "no-type": {"id": "t-1"},
    "half-a-pair": {"type": "message", "id": "m-1", "body": "\ud83e"},
}


@FAMILY.judges("D-10/frame-schema", each=UNFIT, page="socket.md#refusals")
def a_frame_that_does_not_fit_ends_the_connection(subject: Subject, frame: Json) -> None:
    """A frame that violates its schema ends the connection with `frame_invalid` and 4400, even if it has an `id`."""
    with subject.joined(subject.shop()) as peer:
        peer.say(frame)
        peer.end().refused("frame_invalid", 4400)


@FAMILY.judges("D-10/frame-schema", needs=["calls"], page="socket.md#refusals")
def an_action_that_there_is_not_ends_the_connection(subject: Subject) -> None:
    """An unknown `action` of a call ends the connection with `frame_invalid`."""
    with subject.joined(subject.shop()) as peer:
        peer.say({"type": "call", "id": "c-1", "action": "foo"})
        peer.end().refused("frame_invalid", 4400)


@FAMILY.judges(
    "D-10/frame-schema",
    page="socket.md#refusals",
    each={
        "empty": ({"type": "message", "body": ""}, "parameter_invalid"),
        "white-space": ({"type": "message", "body": " \n"}, "parameter_invalid"),
        "wide-space": ({"type": "message", "body": "\u00a0\u3000"}, "parameter_invalid"),
        "separators": ({"type": "message", "body": "\u2028\u001c"}, "parameter_invalid"),
        "next-line": ({"type": "message", "body": "\u0085"}, "parameter_invalid"),
        "nul": ({"type": "message", "body": "a\0b"}, "parameter_invalid"),
    },
)
def what_fits_and_cannot_be_done_is_answered_and_the_socket_stays(subject: Subject, frame: Json, code: str) -> None:
    """A message with an unusable body is refused with the message's `id`, and the socket stays open."""
    with subject.joined(subject.shop()) as peer:
        stays(peer, frame, code)


@FAMILY.judges(
    "D-10/frame-schema", needs=["search"], page="socket.md#refusals", each={"nothing": "", "space": " ", "nul": "a\0"}
)
def an_empty_search_is_answered_and_the_socket_stays(subject: Subject, query: str) -> None:
    """A search that is empty or contains a NUL character is refused with `parameter_invalid`."""
    with subject.joined(subject.shop()) as peer:
        stays(peer, {"type": "search", "query": query}, "parameter_invalid")


@FAMILY.judges("D-10/frame-schema", needs=["calls"], page="socket.md#refusals")
def the_end_of_no_call_is_answered_and_the_socket_stays(subject: Subject) -> None:
    """Ending a call when there is none is refused with `call_unknown`."""
    with subject.joined(subject.shop()) as peer:
        stays(peer, {"type": "call", "action": "end"}, "call_unknown")


SIZES: dict[str, tuple[str, str, str]] = {
    "body": ("message", "message_chars", "x"),
    "name": ("message", "name_chars", "x"),
    "query": ("search", "search_chars", "x"),
    "body-of-code-points": ("message", "message_chars", "\N{FOX FACE}"),
    "name-of-code-points": ("message", "name_chars", "\N{FOX FACE}"),
    "query-of-code-points": ("search", "search_chars", "\N{FOX FACE}"),
}


@FAMILY.judges("D-10/frame-schema", each=SIZES, page="limits.md#limits")
def a_text_has_so_many_characters_and_no_more(subject: Subject, kind: str, limit: str, letter: str) -> None:
    """A text at its limit of code points is accepted, and a longer text is refused with `too_large`."""
    if kind == "search":
        subject.needs("search")
    most = int(getattr(subject.limits, limit))
    subject.within(len(json.dumps(letter)) * most + 300, "frame_bytes")

    def frame(size: int) -> dict[str, Any]:
        text = letter * size
        if limit == "name_chars":
            return {"type": kind, "body": "Hello", "headers": {"name": text}}
        return {"type": kind, ("query" if kind == "search" else "body"): text}

    with subject.joined(subject.shop()) as peer:
        peer.granted({**frame(most), "id": "f-0"}, "search" if kind == "search" else "ack")
        stays(peer, frame(most + 1), "too_large")
