"""What an id_token says (OpenID Connect Core 2)."""

from __future__ import annotations

from typing import Any

import msgspec


class Claims(msgspec.Struct, frozen=True):
    """The claims that are judged, with times in seconds since the epoch, and the e-mail as it was sent."""

    iss: str
    aud: str | list[str]
    sub: str
    exp: float
    iat: float
    nonce: str | None = None
    azp: str | None = None
    at_hash: str | None = None
    email: Any = None
    email_verified: Any = None

    @property
    def audience(self) -> list[str]:
        """The audience as a list, however it was written."""
        return [self.aud] if isinstance(self.aud, str) else self.aud
