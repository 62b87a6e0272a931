"""What comes of the link to the service: who is connected, or what is wanted of the others before anybody can be."""

from dataclasses import dataclass
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_widget.principal import Principal

TERMINAL: Final = frozenset({Code.PROVIDER_UNKNOWN, Code.PROVIDER_OFF, Code.ORIGIN_NOT_ALLOWED, Code.INSECURE_ORIGIN})
"""Refusals that no other token and no other identity would change."""


@dataclass(frozen=True, slots=True)
class Established:
    """The server accepted the principal."""

    principal: Principal


@dataclass(frozen=True, slots=True)
class Refused:
    """The server will not have the principal with this token."""

    code: str
    message: str

    @property
    def terminal(self) -> bool:
        """Whether another identity would be refused just the same."""
        return self.code in TERMINAL

    @property
    def expired(self) -> bool:
        """Whether the token merely ended."""
        return self.code == Code.TOKEN_EXPIRED


@dataclass(frozen=True, slots=True)
class Reauth:
    """The server asks for a newer token, which only the page's backend can make."""


Outcome = Established | Refused | Reauth
