"""The names under which the widget stores data in the browser (contract 2.8, D-04)."""

from typing import Final

MEMBER_TOKEN_PREFIX: Final = "wf_member_token_"
"""Key in localStorage, followed by the provider id: the socket token (custom login) or identity token (social; D-06).
"""

SIGN_IN_PREFIX: Final = "wf_sign_in_"
"""Key in sessionStorage, followed by the provider id: provider and nonce of the current social login (D-09)."""

DATABASE: Final = "wf_keys"
STORE: Final = "keys"
RECORD: Final = "connection"
"""The record in IndexedDB that holds the origin's only connection key pair (D-04)."""

VISITOR_UID_PREFIX: Final = "v_"
"""`wf_visitor_uid` is this prefix and the RFC 7638 thumbprint of the connection key (D-04)."""

KEY_LOCK: Final = "wf_keys:create"
TOKEN_LOCK_PREFIX: Final = "wf_get_token:"
"""Web Locks: only one tab at a time creates the origin's key, or calls `getToken` for a provider (D-04, D-12)."""

LOGOUT_CHANNEL_PREFIX: Final = "wf_logout:"
"""BroadcastChannel, followed by the provider id: logging out in one tab logs out all of them."""
