"""Calls the two functions that read tokens directly, in this process and with a clock that stands still."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import urlsafe_b64encode
from typing import Any, ClassVar, Final

import pytest

from chatkey_conform.making.issuer import Issuer
from chatkey_peer.key import Json
from chatkey_server.identity import tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Secrets

NOW: Final = 1_795_000_020.0
SECRET: Final = urlsafe_b64encode(bytes(range(100, 148))).decode()
"""Looks like the service's own secrets: text that could be mistaken for base64."""


class Reader(ABC):
    """A function that reads tokens, and the claims that it accepts."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self.shop = Issuer("prov_a", SECRET, lambda: NOW)
        self.secrets = Secrets(SECRET.encode())

    @abstractmethod
    def claims(self, **changes: Any) -> Json:
        """Return claims that are honest for this function, with these changes."""

    @abstractmethod
    def read(self, token: str) -> str:
        """Read a token, and return its `pid`."""

    def accept(self, token: str) -> None:
        """Read a token that must be accepted."""
        assert self.read(token) == self.shop.id

    def refuse(self, token: str, code: str) -> Json:
        """Read a token that must be refused with this code; return the refusal's message, member and cause."""
        with pytest.raises(Refused) as refused:
            self.read(token)
        told = refused.value
        assert told.code == code, told
        return {"message": told.message, "member": told.member, "cause": told.cause}


class SocketReader(Reader):
    """Reads tokens with `read_socket_token` (contract 2.4)."""

    kind: ClassVar[str] = "socket"

    def claims(self, **changes: Any) -> Json:
        """Return the claims of a custom login."""
        return self.shop.claims(**changes)

    def read(self, token: str) -> str:
        """Read a socket token."""
        return tokens.read_socket_token(token, self.secrets, pid=self.shop.id, now=NOW).pid


class IdentityReader(Reader):
    """Reads tokens with `read_identity_token` (contract 2.5)."""

    kind: ClassVar[str] = "identity"

    def claims(self, **changes: Any) -> Json:
        """Return the claims of an identity token."""
        return self.shop.identity_claims(**changes)

    def read(self, token: str) -> str:
        """Read an identity token."""
        return tokens.read_identity_token(token, self.secrets, pid=self.shop.id, now=NOW).pid
