"""Calls the server's two token readers directly, with a clock that stands still."""

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
    """One of the server's token readers, with claims that this reader accepts."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self.shop = Issuer("prov_a", SECRET, lambda: NOW)
        self.secrets = Secrets(SECRET.encode())

    @abstractmethod
    def claims(self, **changes: Any) -> Json:
        """Return claims that this reader accepts, with `changes` applied."""

    @abstractmethod
    def read(self, token: str) -> str:
        """Read a token, and return the claim `pid`."""

    def accept(self, token: str) -> None:
        assert self.read(token) == self.shop.id

    def refuse(self, token: str, code: str) -> Json:
        """Read a token that must be refused with this code. Returns the refusal's message, member and cause."""
        with pytest.raises(Refused) as refused:
            self.read(token)
        told = refused.value
        assert told.code == code, told
        return {"message": told.message, "member": told.member, "cause": told.cause}


class SocketReader(Reader):
    """Reads tokens with `read_socket_token` (contract 2.4)."""

    kind: ClassVar[str] = "socket"

    def claims(self, **changes: Any) -> Json:
        return self.shop.claims(**changes)

    def read(self, token: str) -> str:
        return tokens.read_socket_token(token, self.secrets, pid=self.shop.id, now=NOW).pid


class IdentityReader(Reader):
    """Reads tokens with `read_identity_token` (contract 2.5)."""

    kind: ClassVar[str] = "identity"

    def claims(self, **changes: Any) -> Json:
        return self.shop.identity_claims(**changes)

    def read(self, token: str) -> str:
        return tokens.read_identity_token(token, self.secrets, pid=self.shop.id, now=NOW).pid
