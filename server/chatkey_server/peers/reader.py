"""Strictly decodes text messages into typed frames. An error names the wrong member without repeating its value."""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar, cast, get_args

import msgspec

from chatkey_protocol.codes import Code
from chatkey_server.identity.encoding import Malformed, json_object
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.declarations import kind_of, strict
from chatkey_server.peers.writer import encode

T = TypeVar("T")

_PATH: Final = re.compile(r" - at `\$\.?(?P<path>[^`]*)`\Z")


class _Typed(msgspec.Struct):
    type: str


_read_typed: Final = msgspec.json.Decoder(_Typed).decode


class Reader(Generic[T]):
    """Decodes frames of a union of typed dictionaries, distinguished by `type`. Unknown members are ignored."""

    def __init__(self, frames: Any) -> None:
        self._decoders = {kind_of(frame): msgspec.json.Decoder(strict(frame)) for frame in get_args(frames)}
        self.kinds = frozenset(self._decoders)

    def read(self, text: str, *, max_bytes: int) -> T:
        """Decode one frame. Raises `Refused` with `frame_too_large`, or with `frame_invalid` and the wrong member."""
        raw = _bytes(text)
        if len(raw) > max_bytes:
            raise Refused(Code.FRAME_TOO_LARGE, f"The frame has {len(raw)} bytes; the limit is {max_bytes}.")
        frame = self._read_plain(raw)
        return self._read_any(raw) if frame is None else frame

    def _read_plain(self, raw: bytes) -> T | None:
        """Decode a frame that is written as msgspec would write it. Returns None for others, and for wrong frames.

        What msgspec writes is strict JSON. Most frames are written so, and `_read_any` takes three times as long.
        """
        try:
            frame = self._decoders[_read_typed(raw).type].decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, RecursionError):
            return None
        return cast("T", frame) if encode(frame) == raw else None

    def _read_any(self, raw: bytes) -> T:
        try:
            kind = json_object(raw).get("type")
        except Malformed as wrong:
            raise Refused(Code.FRAME_INVALID, f"The frame cannot be read: {wrong}.") from None
        if not isinstance(kind, str) or kind not in self.kinds:
            known = ", ".join(sorted(self.kinds))
            raise Refused(Code.FRAME_INVALID, f"The frame's type must be one of {known}.", member="type")
        try:
            return cast("T", self._decoders[kind].decode(raw))
        except (msgspec.MsgspecError, RecursionError) as wrong:
            raise _wrong_member(wrong) from None


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise Refused(Code.FRAME_INVALID, "The frame is not text in UTF-8.") from None


def _wrong_member(wrong: Exception) -> Refused:
    message = str(wrong)
    at = _PATH.search(message)
    # After "Invalid … value", msgspec quotes the received text, which may be anything, even a token.
    what = "Not one of the allowed values" if message.startswith("Invalid") else _PATH.sub("", message)
    member = at["path"] if at else None
    where = f" at {member}" if member else ""
    return Refused(Code.FRAME_INVALID, f"The frame is invalid{where}: {what}.", member=member)
