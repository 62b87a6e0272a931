"""A business as its backend knows it: its id, its secret, and the tokens that are made with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from chatkey_conform.making.honest import BrowserKey, Json, Maker, merged


class Issuer:
    """The honest tokens of a business and of one browser's key, and any change of them; `clock` tells the time."""

    header: Final = {"alg": "HS256", "typ": "JWT"}

    def __init__(self, provider_id: str, secret: str, clock: Callable[[], float]) -> None:
        self.id = provider_id
        self.secret = secret.encode()
        self.key = BrowserKey()
        self._clock = clock

    @property
    def now(self) -> int:
        """The service's time, in whole seconds."""
        return int(self._clock())

    def claims(self, **changes: Any) -> Json:
        """Return the claims of an honest custom login (contract 2.4)."""
        now = self.now
        honest = {
            "pid": self.id,
            "uid": "customer-7",
            "type": "user",
            "iat": now,
            "exp": now + 3600,
            "cnf": {"jkt": self.key.jkt},
            "name": "Ada Lovelace",
        }
        return merged(honest, changes)

    def identity_claims(self, **changes: Any) -> Json:
        """Return the claims of an identity token as the callback makes it (contract 2.5)."""
        now = self.now
        honest = {
            "pid": self.id,
            "uid": "google:42",
            "type": "identity",
            "iat": now,
            "exp": now + 86_400,
            "name": "Ada Lovelace",
            "cnf": {"jkt": self.key.jkt},
        }
        return merged(honest, changes)

    def visitor_claims(self, **changes: Any) -> Json:
        """Return the claims of a visitor's token (contract 2.6)."""
        now = self.now
        honest = {"pid": self.id, "uid": self.key.uid, "type": "visitor", "iat": now, "exp": (now // 60 + 2) * 60}
        return merged(honest, changes)

    def sign(self, claims: object, *, header: object = None, key: bytes | None = None) -> str:
        """Return a token with these claims, under the shop's own secret unless another key is given."""
        return Maker().jws(self.header if header is None else header, claims, self.secret if key is None else key)

    def token(self, **changes: Any) -> str:
        """Return an honest custom token with these claims changed."""
        return self.sign(self.claims(**changes))

    def identity_token(self, **changes: Any) -> str:
        """Return an identity token with these claims changed."""
        return self.sign(self.identity_claims(**changes))
