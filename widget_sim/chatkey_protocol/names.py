"""Names of the contract that more than one component writes down: paths, globals, message types, providers."""

from collections.abc import Mapping
from typing import Final, NamedTuple

STANDARD_TITLE: Final = "Chat with us"
STANDARD_GREETING: Final = "Hello! How can we help?"
STANDARD_CALL_TITLE: Final = "Call us"
"""What a business says that wrote nothing of its own; the widget says it in the reader's language (D-12)."""

SUBPROTOCOL: Final = "wf.v1"
"""The socket profile, offered and chosen as the WebSocket subprotocol (D-10)."""

REVISION: Final = 2
"""Of the profile's pages: what they say more, and nothing that a peer of an earlier one cannot read."""

PROOF_TYP: Final = "wf-proof+jwt"
"""`typ` of the one-time proof that opens a socket (D-10)."""

PROOF_HTM: Final = "GET"
"""`htm` of the proof: a WebSocket opens with a GET."""

OAUTH_MESSAGE: Final = "wf:oauth"
"""`type` of the message the callback page posts to its opener (D-09)."""


class Social(NamedTuple):
    """A social provider as it writes itself. One that is not `available` is announced: its start answers 404."""

    title: str
    available: bool


SOCIALS: Final[Mapping[str, Social]] = {
    "google": Social("Google", available=True),
    "facebook": Social("Facebook", available=True),
    "github": Social("GitHub", available=True),
    "gitlab": Social("GitLab", available=True),
    "discord": Social("Discord", available=True),
    "apple": Social("Apple", available=False),
    "x": Social("X", available=False),
    "tiktok": Social("TikTok", available=False),
    "amazon": Social("Amazon", available=False),
}
"""The social providers there are, in the order in which the login page shows them (contract 4.4)."""

AVAILABLE_SOCIALS: Final = tuple(name for name, social in SOCIALS.items() if social.available)
"""Those a business can enable today."""

ANNOUNCED_SOCIALS: Final = tuple(name for name, social in SOCIALS.items() if not social.available)
"""Those announced for later, which a server may offer as a preview (D-03)."""

GLOBAL_CONFIG: Final = "ServiceConfig"
GLOBAL_INIT: Final = "initService"
GLOBAL_HANDLE: Final = "Service"
"""The widget's names on the host's `window` (contract 4.8, D-01)."""

CONFIG_PATH: Final = "/v1/public/provider/{id}"
VISITOR_TOKEN_PATH: Final = "/v1/public/provider/{id}/token"
MEMBER_TOKEN_PATH: Final = "/v1/public/provider/{id}/member/token"
OAUTH_START_PATH: Final = "/v1/public/provider/{id}/oauth/{social}"
OAUTH_CALLBACK_PATH: Final = "/v1/public/oauth/{social}/callback"
SOCKET_PATH: Final = "/v1/socket"
"""The public surface (contract 4, D-10), as templates for `str.format`."""
