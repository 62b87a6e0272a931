"""Decides who may connect: checks the page's origin, the token, the proof and the provider in the order of D-10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import Connect
from chatkey_server.identity import origins, proofs
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import SocketIdentity
from chatkey_server.storage.providers import ProviderView

_JWT_START: Final = b"eyJ"
"""The start of the base64url of every JSON object."""


class Admitted(NamedTuple):
    """The connected identity, and how far the widget's clock is ahead of the server's, in seconds."""

    identity: SocketIdentity
    skew: float


class Handshake(NamedTuple):
    """The socket's address and the page's origin, against which tokens and proofs are checked."""

    uri: str
    origin: str | None
    """The origin of the page. None if a client that is not a browser sent none."""

    @classmethod
    def begin(cls, uri: str, origin_headers: Sequence[str], query: bytes) -> Handshake:
        """Check the request that opened the socket: its origin, and that its URL contains no token.

        An http origin that is not loopback is refused with `insecure_origin` (contract 5.6), because its pages have no
        secure context in which they could hold a key.
        """
        if _JWT_START in query:
            raise Refused(
                Code.PARAMETER_INVALID, "The socket's URL contains a token; send the token in the connect frame."
            )
        if len(origin_headers) > 1:
            raise Refused(Code.PARAMETER_REPEATED, "The Origin header was sent more than once.", member="Origin")
        return cls(uri, _page_origin(origin_headers[0]) if origin_headers else None)

    def judge(
        self, frame: Connect, identity: SocketIdentity, provider: ProviderView, *, nonce: str | None, now: float
    ) -> Admitted:
        """Return the connected identity.

        Each check refuses with a code of its own, and the first check that fails decides. `identity` comes from the
        frame's token, and `provider` is the provider that the token names.
        """
        proof = proofs.verify(
            frame["proof"], token=frame["token"], jkt=identity.jkt, nonce=nonce, htu=self.uri, now=now
        )
        self.check_provider(provider)
        return Admitted(identity, proof.skew)

    def check_provider(self, provider: ProviderView) -> None:
        """Refuse if the provider is switched off, or requires registered origins and this origin is not registered."""
        if not provider.enabled:
            raise Refused(Code.PROVIDER_OFF, f"Provider {provider.id!r} is switched off.", member="pid")
        if not provider.restrict_socket_origins:
            return
        if self.origin is None or origins.match(self.origin, provider.origins) is None:
            raise Refused(
                Code.ORIGIN_NOT_ALLOWED,
                f"Provider {provider.id!r} only accepts its registered domains; register the domain of this page.",
                member="Origin",
            )


def _page_origin(origin: str) -> str:
    if origins.is_secure(origin):
        return origin
    if origin.startswith("http://"):
        raise Refused(
            Code.INSECURE_ORIGIN,
            "The page was loaded over plain http; serve it over https, or from localhost.",
            member="Origin",
        )
    raise Refused(
        Code.ORIGIN_NOT_ALLOWED,
        "The page's origin is neither https nor http; serve the page over https.",
        member="Origin",
    )
