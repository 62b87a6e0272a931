"""A business of one test, and the tokens that its backend and the service make for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from honest import BrowserKey, Json, Maker, merged

if TYPE_CHECKING:
    import httpx

    from shipped import Service


class Shop:
    """A business of one test, and the tokens its backend and the service make for it."""

    header: Final = {"alg": "HS256", "typ": "JWT"}

    def __init__(self, service: Service, provider_id: str, secret: str) -> None:
        self._service = service
        self.id = provider_id
        self.secret = secret.encode()
        self.key = BrowserKey()
        self.path = f"/v1/public/provider/{provider_id}"

    @property
    def now(self) -> int:
        """The service's time, in whole seconds."""
        return int(self._service.now())

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

    def visitor_token(self) -> str:
        """Ask the service for a visitor's token."""
        answer = self._service.http.get(f"{self.path}/token", params={"uid": self.key.uid})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["auth_token"])

    def exchange(self, auth: str, jkt: str | None = None) -> httpx.Response:
        """Send an identity token to the member token endpoint (contract 4.3)."""
        query = {"auth": auth, "jkt": self.key.jkt if jkt is None else jkt}
        return self._service.http.get(f"{self.path}/member/token", params=query)
