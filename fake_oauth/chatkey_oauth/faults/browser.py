"""Faults of the pages in the popup: cut off from its opener, left open, or not there."""

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
"""The parameter that tells that a browser was already sent through the entrance."""

Page = Annotated[
    Literal["any", "entrance", "consent", "return"],
    msgspec.Meta(
        description="On any, on a redirect before the consent page (entrance), on the consent page, or on the way back."
    ),
]


class CoopSameOrigin(Fault):
    """`Cross-Origin-Opener-Policy: same-origin` on a page of the popup, which cuts it off from its opener for good."""

    name = "coop-same-origin"
    legs = BROWSER
    on_menu = True
    policy: ClassVar[str] = "same-origin"
    page: Page = "any"

    def instead(self, at: Moment) -> Answer | None:
        """Send the browser here once more, over a redirect that carries the policy."""
        if self.page != "entrance" or at.leg is not Leg.AUTHORIZE or PASSED in at.call.query:
            return None
        here = f"{at.provider.addresses.browser}{at.call.path}?{at.call.query_string}&{PASSED}=1"
        return with_headers(redirect(here), ("cross-origin-opener-policy", self.policy))

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Put the header on the answer, if it is the page asked for."""
        page = "consent" if at.way_back is None else "return"
        if self.page not in {"any", page}:
            return None
        return with_headers(answer, ("cross-origin-opener-policy", self.policy))


class CoopSameOriginAllowPopups(CoopSameOrigin):
    """`same-origin-allow-popups` on a page of the popup, which cuts it off like `same-origin`: it is the one opened."""

    name = "coop-same-origin-allow-popups"
    policy = "same-origin-allow-popups"


class CoopNoopenerAllowPopups(CoopSameOrigin):
    """`noopener-allow-popups` on a page of the popup, which cuts it off even from openers of its own origin."""

    name = "coop-noopener-allow-popups"
    policy = "noopener-allow-popups"


class PopupLeftOpen(Fault):
    """Nobody is sent back: the popup says that it can be closed, and stays."""

    name = "popup-left-open"
    legs = (Leg.CODE,)
    on_menu = True

    def callback(self, callback: Callback, at: Moment) -> Callback:
        """Show a page that says the window can be closed, instead of sending the browser back."""
        return replace(callback, page=pages.closing_page(at.provider))


class ErrorPage(Fault):
    """The provider shows an error on its own page, and nobody is sent back."""

    name = "error-page"
    legs = BROWSER
    on_menu = True

    def instead(self, at: Moment) -> ShownToPerson:
        """Refuse with the page of a provider that blocks an application."""
        return ShownToPerson(403, "app_blocked", "This application is blocked for now. Try again later.")
