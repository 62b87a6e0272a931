"""A business that signs tokens, with its id and its secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from chatkey_conform.making.honest import Maker
from chatkey_peer.key import BrowserKey, Json, merged


class Issuer:
    """Makes valid or changed tokens for a business and one browser key. `clock` returns the time."""

    header: Final = {"alg": "HS256", "typ": "JWT"}

    def __init__(self, provider_id: str, secret: str, clock: Callable[[], float]) -> None:
        self.id = provider_id
        self.secret = secret.encode()
        self.key = BrowserKey()
        self._clock = clock

    @property
    def now(self) -> int:
        """The service's time in whole seconds."""
        return int(self._clock())

    def claims(self, **changes: Any) -> Json:
        """Return the claims of a valid custom login (contract 2.4), with these changes."""
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
        """Return the claims of an identity token like those of the callback (contract 2.5), with these changes."""
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
        """Return the claims of a visitor token (contract 2.6), with these changes."""
        now = self.now
        honest = {"pid": self.id, "uid": self.key.uid, "type": "visitor", "iat": now, "exp": (now // 60 + 2) * 60}
        return merged(honest, changes)

    def sign(self, claims: object, *, header: object = None, key: bytes | None = None) -> str:
        """Return a token with these claims, signed with the business's secret unless `key` is given."""
        return Maker().jws(self.header if header is None else header, claims, self.secret if key is None else key)

    def token(self, **changes: Any) -> str:
        """Return a custom token with these changes to valid claims."""
        return self.sign(self.claims(**changes))

    def identity_token(self, **changes: Any) -> str:
        """Return an identity token with these changes to valid claims."""
        return self.sign(self.identity_claims(**changes))
