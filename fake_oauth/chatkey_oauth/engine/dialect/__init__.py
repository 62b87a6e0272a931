"""The differences between providers, as attributes and methods with default values, grouped by subject.

Each provider overrides the values that differ. The engine uses only `Dialect`, and knows no provider by name.
"""

from __future__ import annotations

from chatkey_oauth.engine.dialect.approval import ApprovalDialect
from chatkey_oauth.engine.dialect.id_token import IdTokenDialect
from chatkey_oauth.engine.dialect.profile import ProfileDialect
from chatkey_oauth.engine.dialect.request import RequestDialect
from chatkey_oauth.engine.dialect.token import TokenDialect, say

__all__ = ["Dialect", "say"]


class Dialect(RequestDialect, ApprovalDialect, TokenDialect, IdTokenDialect, ProfileDialect):
    """Everything in which one provider can differ from the others."""
