"""The page that opened the popup of a social login, and the messages that this page gets (contract 4.5, 6, D-09)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from chatkey_protocol.names import OAUTH_MESSAGE

if TYPE_CHECKING:
    from chatkey_protocol.frames import OAuthMessage
    from chatkey_server.identity.errors import Refused


class Opener(msgspec.Struct, frozen=True):
    """The target of a message. `origin` is a registered origin, never the text from the request."""

    origin: str
    provider_id: str
    social: str
    nonce: str | None

    def granted(self, token: str) -> OAuthMessage:
        """Return the message that carries the identity token."""
        return {**self._message(), "token": token}

    def refused(self, refused: Refused) -> OAuthMessage:
        """Return the message that says why the login failed."""
        return {**self._message(), "error": {"code": refused.code, "message": refused.message}}

    def _message(self) -> OAuthMessage:
        message: OAuthMessage = {"type": OAUTH_MESSAGE, "providerId": self.provider_id, "social": self.social}
        if self.nonce is not None:
            message["nonce"] = self.nonce
        return message
