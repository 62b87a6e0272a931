"""A business at the target, and the browser of one person on the business's page."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chatkey_conform.capabilities import NotApplicable
from chatkey_conform.judging.verdict import expect_that
from chatkey_conform.making.issuer import Issuer
from chatkey_peer.key import Json

if TYPE_CHECKING:
    from chatkey_conform.grades.business import Business
    from chatkey_conform.subject.answer import Answer


class Shop(Issuer):
    """A business, with a browser key and a member uid that no other case uses."""

    def __init__(self, business: Business, *, get: Callable[..., Answer], now: Callable[[], float]) -> None:
        super().__init__(business.id, business.secret_key, now)
        self._get = get
        self.business = business
        self.path = path_of(business.id)
        self.member = f"customer-{secrets.token_hex(6)}"

    @property
    def origin(self) -> str:
        return self.business.origins[0]

    @property
    def social(self) -> str:
        """An enabled social login. Raises `NotApplicable` if no social login is enabled."""
        if not self.business.socials:
            raise NotApplicable("social:google")
        return self.business.socials[0]

    def claims(self, **changes: Any) -> Json:
        """Return the claims of a valid custom login of this member, with these changes."""
        return super().claims(**{"uid": self.member, **changes})

    def identity_claims(self, **changes: Any) -> Json:
        """Return the claims of this member's identity token for an enabled social login, with these changes."""
        return super().identity_claims(**{"uid": f"{self.social}:{self.member}", **changes})

    def visitor_token(self) -> str:
        """Request a visitor token, and check that the service grants it."""
        answer = self._get(f"{self.path}/token", uid=self.key.uid)
        return _token_of(answer)

    def exchange(self, auth: str, jkt: str | None = None) -> Answer:
        """Send an identity token to the member token endpoint."""
        return self._get(f"{self.path}/member/token", auth=auth, jkt=self.key.jkt if jkt is None else jkt)

    def social_token(self, **changes: Any) -> str:
        """Exchange a valid identity token, and check that the service grants the socket token."""
        return _token_of(self.exchange(self.identity_token(**changes)))


def path_of(provider_id: str) -> str:
    return f"/v1/public/provider/{provider_id}"


def _token_of(answer: Answer) -> str:
    token = answer.data().get("auth_token")
    expect_that(isinstance(token, str) and token.count(".") == 2, f"The answer to {answer.asked} has no auth_token")
    return str(token)
