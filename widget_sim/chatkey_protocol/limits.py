"""The limits of the profile that a service may set differently (docs/limits.md)."""

from dataclasses import dataclass

from chatkey_protocol.names import MAX_TOKEN_BYTES


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits per peer. Times are in seconds, rates per minute; 0 means no limit."""

    token_bytes: int = MAX_TOKEN_BYTES
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
