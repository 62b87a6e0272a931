"""Faults of the pages in the popup: the page loses its opener, stays open, or shows an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine import pages
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import redirect
from chatkey_oauth.engine.refusals import ShownToPerson
from chatkey_oauth.faults.bodies import with_headers
from chatkey_oauth.faults.fault import BROWSER, Fault

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.requests import Callback
    from chatkey_oauth.faults.moment import Moment

PASSED: Final = "chatkey_passed"
"""The query parameter that marks a request as redirected by the "entrance" variant."""

Page = Annotated[
    Literal["any", "entrance", "consent", "return"],
    msgspec.Meta(
        description=(
            "The page on which the fault acts: any page, a redirect before the consent page (entrance), the consent "
            "page, or the return to the client."
        )
    ),
]


class CoopSameOrigin(Fault):
    """A popup page has `Cross-Origin-Opener-Policy: same-origin`, which separates it from its opener for good."""

    name = "coop-same-origin"
    legs = BROWSER
    on_menu = True
    policy: ClassVar[str] = "same-origin"
    page: Page = "any"

    def instead(self, at: Moment) -> Answer | None:
        """Redirect the browser to the same page. The redirect has the policy."""
        if self.page != "entrance" or at.leg is not Leg.AUTHORIZE or PASSED in at.call.query:
            return None
        here = f"{at.provider.addresses.browser}{at.call.path}?{at.call.query_string}&{PASSED}=1"
        return with_headers(redirect(here), ("cross-origin-opener-policy", self.policy))

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        page = "consent" if at.way_back is None else "return"
        if self.page not in {"any", page}:
            return None
        return with_headers(answer, ("cross-origin-opener-policy", self.policy))


class CoopSameOriginAllowPopups(CoopSameOrigin):
    """A popup page has the policy `same-origin-allow-popups`, which separates the popup like `same-origin` does.

    The policy keeps the links to popups that the page opens. It does not keep the link to the page's own opener.
    """

    name = "coop-same-origin-allow-popups"
    policy = "same-origin-allow-popups"


class CoopNoopenerAllowPopups(CoopSameOrigin):
    """A popup page has the policy `noopener-allow-popups`, which separates even a popup of the opener's origin."""

    name = "coop-noopener-allow-popups"
    policy = "noopener-allow-popups"


class PopupLeftOpen(Fault):
    """The browser is not redirected.

    A page in the popup says that the window can be closed, and the window stays open.
    """

    name = "popup-left-open"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback:
        return replace(callback, page=pages.closing_page(at.provider))


class ErrorPage(Fault):
    """The provider shows an error on its own page and never redirects to the client."""

    name = "error-page"
    legs = BROWSER
    on_menu = True

    def instead(self, at: Moment) -> ShownToPerson:
        return ShownToPerson(403, "app_blocked", "This application is blocked for now. Try again later.")
