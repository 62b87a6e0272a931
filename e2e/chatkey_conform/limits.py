"""The limits of a target that may differ from the profile's defaults: the table [limits] of TARGET.toml."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits per peer (docs/limits.md). Rates are per minute; 0 means no limit."""

    token_bytes: int = 8192
    query_bytes: int = 16 * 1024
    body_bytes: int = 64 * 1024
    token_rate: int = 600
    oauth_rate: int = 60
    frame_bytes: int = 64 * 1024
    message_chars: int = 4000
    name_chars: int = 255
    search_chars: int = 100
    frames_per_second: int = 20
    auth_timeout: int = 10
    frame_timeout: int = 20
    idle_timeout: int = 180
    pong_timeout: int = 20
    ping: int = 25
    sockets_per_address: int = 1000
    sockets_per_identity: int = 50
