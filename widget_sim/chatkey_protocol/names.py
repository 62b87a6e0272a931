"""Names of the contract that several components use: paths, globals, message types, providers."""

from collections.abc import Mapping
from typing import Final, NamedTuple

STANDARD_TITLE: Final = "Chat with us"
STANDARD_GREETING: Final = "Hello! How can we help?"
STANDARD_CALL_TITLE: Final = "Call us"
"""The default texts of a business that has not written any.

The widget shows default texts in the reader's language (D-12).
"""

SUBPROTOCOL: Final = "wf.v1"
"""The socket profile, which the widget offers and the server chooses as the WebSocket subprotocol (D-10)."""

MAX_TOKEN_BYTES: Final = 8192
"""The longest token that the widget sends. By default, a service accepts tokens up to this length."""

REVISION: Final = 3
"""The revision of the profile's documentation. New revisions only add what peers of older revisions can still read."""

PROOF_TYP: Final = "wf-proof+jwt"
"""The `typ` of the one-time proof that opens a socket (D-10)."""

CALL_PROOF_TYP: Final = "wf-call-proof+jwt"
"""The `typ` of the proof that binds the audio of a call to the connection key (D-22)."""

PROOF_HTM: Final = "GET"
"""The `htm` of the proof. It is GET because a WebSocket handshake is a GET request."""

OAUTH_MESSAGE: Final = "wf:oauth"
"""The `type` of the message that the callback page posts to its opener (D-09)."""


class Social(NamedTuple):
    """A social provider, with its name as the provider writes it.

    A provider that is not `available` is only announced. Its login start endpoint answers 404.
    """

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
"""All social providers, in the order in which the login page shows them (contract 4.4)."""

AVAILABLE_SOCIALS: Final = tuple(name for name, social in SOCIALS.items() if social.available)
"""The social providers that a business can enable today."""

ANNOUNCED_SOCIALS: Final = tuple(name for name, social in SOCIALS.items() if not social.available)
"""The social providers that are announced for later. A server may offer them as a preview (D-03)."""

GLOBAL_CONFIG: Final = "ServiceConfig"
GLOBAL_INIT: Final = "initService"
GLOBAL_HANDLE: Final = "Service"
"""The names that the widget uses on the page's `window` (contract 4.8, D-01)."""

CONFIG_PATH: Final = "/v1/public/provider/{id}"
VISITOR_TOKEN_PATH: Final = "/v1/public/provider/{id}/token"
MEMBER_TOKEN_PATH: Final = "/v1/public/provider/{id}/member/token"
OAUTH_START_PATH: Final = "/v1/public/provider/{id}/oauth/{social}"
CHOOSE_ACCOUNT: Final = "prompt=select_account"
"""The parameter of the start with which the person chooses an account, even if the provider knows one."""

OAUTH_CALLBACK_PATH: Final = "/v1/public/oauth/{social}/callback"
SOCKET_PATH: Final = "/v1/socket"
"""The paths of the public API (contract 4, D-10), as templates for `str.format`."""
