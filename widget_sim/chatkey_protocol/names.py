"""Names of the contract that more than one component writes down: paths, globals, message types, providers."""

from typing import Final

SUBPROTOCOL: Final = "wf.v1"
"""The socket profile, offered and chosen as the WebSocket subprotocol (D-10)."""

PROOF_TYP: Final = "wf-proof+jwt"
"""`typ` of the one-time proof that opens a socket (D-10)."""

PROOF_HTM: Final = "GET"
"""`htm` of the proof: a WebSocket opens with a GET."""

OAUTH_MESSAGE: Final = "wf:oauth"
"""`type` of the message the callback page posts to its opener (D-09)."""

AVAILABLE_SOCIALS: Final = ("google", "facebook", "github", "gitlab", "discord")
"""Social providers a business can enable today, in the order in which the login page shows them (contract 4.4)."""

ANNOUNCED_SOCIALS: Final = ("apple", "x", "tiktok", "amazon")
"""Social providers announced for later; their start endpoint answers 404 (contract 4.4)."""

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
