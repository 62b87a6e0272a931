"""A business at the target, with the browser of somebody on its page."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chatkey_conform.capabilities import NotApplicable
from chatkey_conform.judging.verdict import expect_that
from chatkey_conform.making.honest import Json
from chatkey_conform.making.issuer import Issuer

if TYPE_CHECKING:
    from chatkey_conform.grades.business import Business
    from chatkey_conform.subject.answer import Answer


class Shop(Issuer):
    """A business, a key that nobody else has, and a member whose uid nobody else has."""

    def __init__(self, business: Business, *, get: Callable[..., Answer], now: Callable[[], float]) -> None:
        super().__init__(business.id, business.secret_key, now)
        self._get = get
        self.business = business
        self.path = path_of(business.id)
        self.member = f"customer-{secrets.token_hex(6)}"

    @property
    def origin(self) -> str:
        """A page of the business."""
        return self.business.origins[0]

    @property
    def social(self) -> str:
        """A social login that is on. Raises `NotApplicable` where there is none."""
        if not self.business.socials:
            raise NotApplicable("social:google")
        return self.business.socials[0]

    def claims(self, **changes: Any) -> Json:
        """Return the claims of an honest custom login of this member."""
        return super().claims(**{"uid": self.member, **changes})

    def identity_claims(self, **changes: Any) -> Json:
        """Return the claims of an identity token of a social login that is on, of this member."""
        return super().identity_claims(**{"uid": f"{self.social}:{self.member}", **changes})

    def visitor_token(self) -> str:
        """Ask the service for a visitor's token, which it has to grant."""
        answer = self._get(f"{self.path}/token", uid=self.key.uid)
        return _token_of(answer)

    def exchange(self, auth: str, jkt: str | None = None) -> Answer:
        """Send an identity token to the member token endpoint."""
        return self._get(f"{self.path}/member/token", auth=auth, jkt=self.key.jkt if jkt is None else jkt)

    def social_token(self, **changes: Any) -> str:
        """Exchange an honest identity token, which has to be granted."""
        return _token_of(self.exchange(self.identity_token(**changes)))


def path_of(provider_id: str) -> str:
    """Return the path of a business's configuration."""
    return f"/v1/public/provider/{provider_id}"


def _token_of(answer: Answer) -> str:
    token = answer.data().get("auth_token")
    expect_that(isinstance(token, str) and token.count(".") == 2, f"The answer to {answer.asked} has no auth_token")
    return str(token)
