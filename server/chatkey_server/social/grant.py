"""The data that the start and the callback of one social login pass to the back channel."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The authorization code, and the parameters of the authorization request (RFC 6749 4.1.3, RFC 7636 4.5).

    `extras` are the provider's `callback_extras` that came with the code.
    """

    redirect_uri: str
    code: str = field(repr=False)
    verifier: str = field(repr=False)
    oidc_nonce: str = field(repr=False)
    extras: Mapping[str, str] = field(repr=False, default_factory=dict)
