"""The places that take a token: what each accepts, and what it refuses, with the complete answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import Json


class SocketDoor:
    """The chat socket, which takes a custom login's token (contract 2.4)."""

    name: Final = "socket"
    kind: ClassVar[str] = "socket"
    closes: Final = {
        "provider_unknown": 4403,
        "provider_off": 4403,
        "proof_binding_missing": 4403,
        "token_expired": 4419,
        "frame_too_large": 1009,
    }

    def __init__(self, service: Service, shop: Shop) -> None:
        self._service = service
        self.shop = shop

    def claims(self, **changes: Any) -> Json:
        """Return claims that are honest at this place, with these changes."""
        return self.shop.claims(**changes)

    def accept(self, token: str) -> None:
        """Send a token that must be accepted."""
        ended = self._service.try_token(token, self.shop.key)
        assert ended.granted, ended

    def refuse(self, token: str, code: str) -> Json:
        """Send a token that must be refused with this code and its close code.

        Returns what the caller was told and what was logged.
        """
        ended = self._service.try_token(token, self.shop.key)
        assert ended.refusal == (code, self.closes.get(code, 4401))
        return self._service.told("socket.refused", ended.last)


class AuthDoor:
    """The member token endpoint, which takes an identity token as `auth` (contract 4.3)."""

    name: Final = "auth"
    kind: ClassVar[str] = "identity"

    def __init__(self, service: Service, shop: Shop) -> None:
        self._service = service
        self.shop = shop

    def claims(self, **changes: Any) -> Json:
        """Return claims that are honest at this place, with these changes."""
        return self.shop.identity_claims(**changes)

    def accept(self, token: str) -> None:
        """Send a token that must be accepted."""
        answer = self.shop.exchange(token)
        assert answer.status_code == 200, answer.text

    def refuse(self, token: str, code: str) -> Json:
        """Send a token that must be refused with this code and 401.

        Returns what the caller was told and what was logged.
        """
        answer = self.shop.exchange(token)
        assert answer.status_code == 401, answer.text
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert (body["data"], body["error"]["code"]) == (None, code)
        return self._service.told("token.refused", body["error"])


Door = SocketDoor | AuthDoor
