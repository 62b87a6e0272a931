"""The identity that the widget has or wants: the visitor of the key, a custom-login member, or a social member."""

import re
from dataclasses import dataclass, field
from typing import Final

from chatkey_protocol.frames import Identity
from chatkey_widget.tokens import Claims
from chatkey_widget.view import Person

_NO_TEXT: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
"""Characters that must not be in a line of text: controls, line breaks, and unpaired surrogates."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """The anonymous identity that belongs to the connection key (contract 2.3)."""

    uid: str


@dataclass(frozen=True, slots=True)
class Custom:
    """A member of a custom login. The widget sends the integrator's socket token unchanged (contract 2.4)."""

    token: str = field(repr=False)
    claims: Claims

    @property
    def uid(self) -> str:
        """The integrator's user id."""
        return self.claims.uid


@dataclass(frozen=True, slots=True)
class Social:
    """A member of a social login.

    `token` is the identity token (contract 2.5). The widget exchanges it for socket tokens.
    """

    token: str = field(repr=False)
    claims: Claims

    @property
    def uid(self) -> str:
        """The user id, `<social>:<sub>`."""
        return self.claims.uid


Member = Custom | Social
Principal = Visitor | Member


def same_person(one: Principal | None, other: Principal | None) -> bool:
    """Return whether the server treats both principals as one identity: the same kind of login and the same uid."""
    return one is not None and other is not None and type(one) is type(other) and one.uid == other.uid


def identity(principal: Principal) -> Identity:
    """Return the kind of identity, as it is named in frames and events."""
    return "visitor" if isinstance(principal, Visitor) else "member"


def person(principal: Principal | None) -> Person:
    """Return the data of the principal that the screen shows."""
    if principal is None or isinstance(principal, Visitor):
        return Person()
    claims = principal.claims
    return Person(True, _one_line(claims.name or "") or claims.uid, claims.email, _picture(claims.avatar))


def _one_line(name: str) -> str:
    """Return a name on one line. As in the server (D-11), characters that are not text become a space."""
    return _NO_TEXT.sub(" ", name).strip()


def _picture(address: str | None) -> str | None:
    """Return an avatar's address if a page may load it as a picture. Otherwise return None."""
    return address if address is not None and address.startswith(("https://", "http://")) else None
