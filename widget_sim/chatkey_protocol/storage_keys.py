"""Where the widget keeps what in the browser (contract 2.8, D-04)."""

from typing import Final

MEMBER_TOKEN_PREFIX: Final = "wf_member_token_"
"""localStorage: this and the provider id. Custom login: the socket token. Social login: the identity token (D-06)."""

SIGN_IN_PREFIX: Final = "wf_sign_in_"
"""sessionStorage: this and the provider id. The social login under way: its provider and nonce (D-09)."""

DATABASE: Final = "wf_keys"
STORE: Final = "keys"
RECORD: Final = "connection"
"""IndexedDB: the one connection key pair of the origin (D-04)."""

VISITOR_UID_PREFIX: Final = "v_"
"""`wf_visitor_uid` is this and the RFC 7638 thumbprint of the connection key (D-04)."""

KEY_LOCK: Final = "wf_keys:create"
TOKEN_LOCK_PREFIX: Final = "wf_get_token:"
"""Web Locks: one key made per origin, one `getToken` in flight per browser and provider (D-04, D-12)."""

LOGOUT_CHANNEL_PREFIX: Final = "wf_logout:"
"""BroadcastChannel, with the provider id behind: a logout in one tab is a logout in all."""
