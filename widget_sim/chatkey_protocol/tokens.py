"""Claims of the tokens and the proof of profile `wf.v1` (contract 2.4-2.6, D-05, D-10), as typed dictionaries.

Times are integers, seconds since the epoch. Readers of a token ignore claims that are not declared here.
"""

from typing import Annotated, Final, Literal, NotRequired, TypedDict

from chatkey_protocol.frames import Between, Length, Pattern

THUMBPRINT: Final = "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"
"""A SHA-256 in canonical base64url (RFC 7638). The last character encodes only four bits."""

Seconds = Annotated[int, Between(0, 9_999_999_999)]
Thumbprint = Annotated[str, Pattern(THUMBPRINT)]
Coordinate = Thumbprint
"""A coordinate in base64url. Like a thumbprint, it has 32 bytes."""
VisitorUid = Annotated[str, Pattern(f"v_{THUMBPRINT}")]
Uid = Annotated[str, Length(1, 255)]
Shown = Annotated[str, Length(0, 255)]
Address = Annotated[str, Length(0, 2048)]
Short = Annotated[str, Length(1, 256)]


class Confirmation(TypedDict):
    """The key that the token is bound to (RFC 7800 3.1)."""

    jkt: Thumbprint


class MemberData(TypedDict, total=False):
    """Additional data of a social login: the social provider and the member's avatar."""

    auth_provider: str | None
    avatar: Address | None


class VisitorToken(TypedDict):
    """A visitor's socket token. It is made by the visitor token endpoint and is valid for at most two minutes."""

    pid: str
    uid: VisitorUid
    type: Literal["visitor"]
    iat: Seconds
    exp: Seconds
    nbf: NotRequired[Seconds | None]


class SocketToken(TypedDict):
    """A member's socket token: from the integrator's backend (two hours at most) or from the member token endpoint."""

    pid: Annotated[str, Length(1, None)]
    uid: Uid
    type: Literal["user"]
    iat: Seconds
    exp: Seconds
    nbf: NotRequired[Seconds | None]
    cnf: Confirmation
    name: NotRequired[Shown | None]
    email: NotRequired[Shown | None]
    avatar: NotRequired[Address | None]
    data: NotRequired[MemberData | None]


class IdentityToken(TypedDict):
    """A social login's identity token, made by the callback for 24 hours. Has `cnf` if the start request had `jkt`."""

    pid: str
    uid: Uid
    type: Literal["identity"]
    iat: Seconds
    exp: Seconds
    nbf: NotRequired[Seconds | None]
    cnf: NotRequired[Confirmation | None]
    name: NotRequired[Shown | None]
    email: NotRequired[Shown | None]
    avatar: NotRequired[Address | None]
    data: NotRequired[MemberData | None]


class ConnectionKey(TypedDict):
    """The public half of the connection key (RFC 7518 6.2). Only the canonical encoding is valid."""

    kty: Literal["EC"]
    crv: Literal["P-256"]
    x: Coordinate
    y: Coordinate


class ProofHeader(TypedDict):
    """The protected header of a proof."""

    typ: Literal["wf-proof+jwt"]
    alg: Literal["ES256"]
    jwk: ConnectionKey


class ProofClaims(TypedDict):
    """The claims of a proof. They bind the proof to this connection, this socket address and this token."""

    jti: Short
    iat: Seconds
    htm: Literal["GET"]
    htu: Annotated[str, Length(1, 2048)]
    nonce: Short
    ath: Short
    exp: NotRequired[Seconds | None]
    nbf: NotRequired[Seconds | None]
