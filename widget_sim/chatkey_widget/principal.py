"""Who the widget is, or wants to be: the visitor of its key, a custom-login member, or a social member."""

import re
from dataclasses import dataclass, field
from typing import Final

from chatkey_protocol.frames import Identity
from chatkey_widget.tokens import Claims
from chatkey_widget.view import Person

_NO_TEXT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""What no line of text has: controls, line ends, and halves of characters."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """The anonymous identity of the connection key (contract 2.3)."""

    uid: str


@dataclass(frozen=True, slots=True)
class Custom:
    """A member by the integrator's socket token, which is used unchanged (contract 2.4)."""

    token: str = field(repr=False)
    claims: Claims

    @property
    def uid(self) -> str:
        """The integrator's own user id."""
        return self.claims.uid


@dataclass(frozen=True, slots=True)
class Social:
    """A member by social login; `token` is the identity token (contract 2.5), exchanged for socket tokens."""

    token: str = field(repr=False)
    claims: Claims

    @property
    def uid(self) -> str:
        """`<social>:<sub>`."""
        return self.claims.uid


Member = Custom | Social
Principal = Visitor | Member


def same_person(one: Principal | None, other: Principal | None) -> bool:
    """Tell whether two principals are one identity to the server: same kind of login, same uid."""
    return one is not None and other is not None and type(one) is type(other) and one.uid == other.uid


def identity(principal: Principal) -> Identity:
    """Return the identity's name in frames and events."""
    return "visitor" if isinstance(principal, Visitor) else "member"


def person(principal: Principal | None) -> Person:
    """Return what the screen says of the principal."""
    if principal is None or isinstance(principal, Visitor):
        return Person()
    claims = principal.claims
    return Person(True, _one_line(claims.name or "") or claims.uid, claims.email, _picture(claims.avatar))


def _one_line(name: str) -> str:
    """Return a name as the server reads it, too (D-11): what is no text becomes a space."""
    return _NO_TEXT.sub(" ", name).strip()


def _picture(address: str | None) -> str | None:
    """Return an avatar's address if a page may load it as a picture; any other is no avatar."""
    return address if address is not None and address.startswith(("https://", "http://")) else None
