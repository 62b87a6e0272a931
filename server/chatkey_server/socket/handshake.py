"""Who may open a socket: the page's origin, the token, the proof, the provider, judged in the order of D-10."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import Connect
from chatkey_server.identity import origins, proofs
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import SocketIdentity
from chatkey_server.storage.providers import ProviderView

_JWT_START: Final = b"eyJ"
"""How the base64url of every JSON object begins."""


class Admitted(NamedTuple):
    """Who is connected, and how far the widget's clock is ahead, in seconds."""

    identity: SocketIdentity
    skew: float


@dataclass(frozen=True, slots=True)
class Handshake:
    """What tokens and proofs are judged against: the socket's own address and the origin of the page."""

    uri: str
    origin: str | None
    """The origin of the page; None when a client that is no browser named none."""

    @classmethod
    def begin(cls, uri: str, origin_headers: Sequence[str], query: bytes) -> Handshake:
        """Judge how the socket was opened, before a word is said: from where, and with nothing secret in its URL.

        Plain http from anything but loopback is refused with `insecure_origin` (contract 5.6): there is no secure
        context in which such a page could hold a key.
        """
        if _JWT_START in query:
            raise Refused(Code.PARAMETER_INVALID, "The socket's URL carries a token; send it in the connect frame.")
        if len(origin_headers) > 1:
            raise Refused(Code.PARAMETER_REPEATED, "The Origin header was sent more than once.", member="Origin")
        return cls(uri, _page_origin(origin_headers[0]) if origin_headers else None)

    def judge(
        self, frame: Connect, identity: SocketIdentity, provider: ProviderView, *, nonce: str | None, now: float
    ) -> Admitted:
        """Return who is connected. Refuses at the first check that fails, each with its own code.

        `identity` is whom the frame's token speaks for, and `provider` the one it names.
        """
        proof = proofs.verify(
            frame["proof"], token=frame["token"], jkt=identity.jkt, nonce=nonce, htu=self.uri, now=now
        )
        self.check_provider(provider)
        return Admitted(identity, proof.skew)

    def check_provider(self, provider: ProviderView) -> None:
        """Refuse when the provider is switched off, or keeps its socket to its registered origins."""
        if not provider.enabled:
            raise Refused(Code.PROVIDER_OFF, f"Provider {provider.id!r} is switched off.", member="pid")
        if not provider.restrict_socket_origins:
            return
        if self.origin is None or origins.match(self.origin, provider.origins) is None:
            raise Refused(
                Code.ORIGIN_NOT_ALLOWED,
                f"Provider {provider.id!r} accepts its registered domains only; register the page's one.",
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
        Code.ORIGIN_NOT_ALLOWED, "The page has no web origin of its own; serve it over https.", member="Origin"
    )
