"""Encodes frames, including refusals as `error` frames (D-10)."""

from __future__ import annotations

from typing import Final

import msgspec

from chatkey_protocol.frames import Error
from chatkey_server.identity.errors import RateLimited, Refused

encode: Final = msgspec.json.Encoder().encode


def error(refused: Refused, frame_id: str | None = None) -> Error:
    """Convert a refusal into an `error` frame. With `frame_id`, the frame is the answer to the frame with that id."""
    frame = Error(type="error", code=refused.code, message=refused.message, retryable=refused.meaning.retryable)
    if refused.cause is not None:
        frame["cause"] = refused.cause
    if isinstance(refused, RateLimited):
        frame["retry_after"] = refused.retry_after
    if frame_id is not None:
        frame["id"] = frame_id
    return frame
