"""The claims of an id_token (OpenID Connect Core 2)."""

from __future__ import annotations

from typing import Any

import msgspec


class Claims(msgspec.Struct, frozen=True):
    """The claims that are checked, and the e-mail as received. Times are in seconds since the epoch."""

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
        """The audience as a list. The claim may be a string or a list."""
        return [self.aud] if isinstance(self.aud, str) else self.aud
