"""How one provider differs from another: attributes and methods with their usual values, by what they are about.

A provider overrides what is its own. The engine asks a `Dialect` and knows no provider.
"""

from __future__ import annotations

from chatkey_oauth.engine.dialect.approval import ApprovalDialect
from chatkey_oauth.engine.dialect.device import DeviceDialect
from chatkey_oauth.engine.dialect.id_token import IdTokenDialect
from chatkey_oauth.engine.dialect.profile import ProfileDialect
from chatkey_oauth.engine.dialect.request import RequestDialect
from chatkey_oauth.engine.dialect.token import TokenDialect, say

__all__ = ["Dialect", "say"]


class Dialect(RequestDialect, ApprovalDialect, TokenDialect, DeviceDialect, IdTokenDialect, ProfileDialect):
    """All that one provider says in its own way."""
