"""The names under which the widget stores data in the browser (contract 2.8, D-04)."""

from typing import Final

MEMBER_TOKEN_PREFIX: Final = "wf_member_token_"
"""The beginning of a key in localStorage. The provider id follows.

The entry is the socket token of a custom login, or the identity token of a social login (D-06).
"""

SIGN_IN_PREFIX: Final = "wf_sign_in_"
"""The beginning of a key in sessionStorage. The provider id follows.

The entry contains provider and nonce of the current social login (D-09).
"""

SIGNED_OUT_PREFIX: Final = "wf_signed_out_"
"""The beginning of a key in localStorage. The provider id follows.

The entry exists between a logout and the next login. In this time, a social login lets the person choose the account.
"""

CALL_PREFIX: Final = "wf_call_"
"""The beginning of a key in sessionStorage. The provider id follows.

The entry contains the id of the frame that started the call of this tab (D-22).
"""

UNSENT_PREFIX: Final = "wf_unsent_"
"""The beginning of a key in sessionStorage. The provider id follows.

The entry contains the messages that the service has not acknowledged yet (D-12).
"""

DATABASE: Final = "wf_keys"
STORE: Final = "keys"
RECORD: Final = "connection"
"""The record in IndexedDB with the connection key pair, of which each origin has only one (D-04)."""

VISITOR_UID_PREFIX: Final = "v_"
"""The beginning of `wf_visitor_uid`. The RFC 7638 thumbprint of the connection key follows (D-04)."""

KEY_LOCK: Final = "wf_keys:create"
TOKEN_LOCK_PREFIX: Final = "wf_get_token:"
"""The beginning of the name of a Web Lock.

With such locks, only one tab at a time creates the origin's key, or calls `getToken` for a provider (D-04, D-12).
"""

CALL_LOCK_PREFIX: Final = "wf_call:"
"""The beginning of the name of a Web Lock. The id of the frame that started a call follows.

The tab that has the call holds this lock, so that a duplicate of the tab does not join the call (D-22).
"""

LOGOUT_CHANNEL_PREFIX: Final = "wf_logout:"
"""The beginning of the name of a BroadcastChannel. The provider id follows.

When one tab logs out, this channel tells the other tabs to log out, too.
"""
