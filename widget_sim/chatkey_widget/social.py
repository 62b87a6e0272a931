"""Social login in the page: opens a popup, and checks the popup's message (contract 4.6, D-07, D-09)."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from chatkey_protocol.names import OAUTH_MESSAGE, OAUTH_START_PATH
from chatkey_widget.context import Context
from chatkey_widget.effects import ClosePopup, KeepSignIn, OpenPopup
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import PopupMessage
from chatkey_widget.login import read_member
from chatkey_widget.principal import Social

DOUBLE_CLICK_SECONDS: Final = 1.0
"""The longest time in seconds between two clicks on a button that are treated as one click."""


class SocialFlow:
    """The sign-in in progress. There is at most one, and a new click replaces it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.social: str | None = None
        self.blocked_social: str | None = None
        self.possible = ctx.settings.popups
        self._ref = 0
        self._nonce = ""
        self._window = ""
        self._left: tuple[str, str] | None = None
        """Provider and nonce of a sign-in that an earlier page began. The sign-in window may still be open."""
        self._reached = False
        self._started_at = 0.0

    def resume(self, kept: str | None) -> None:
        """Wait for the result of a sign-in that an earlier page of this tab began."""
        social, nonce, self._window = [*(kept or "").split(" "), "", ""][:3]
        self._left = (social, nonce) if nonce else None

    def start(self, social: str) -> None:
        """Open the popup. The browser allows this because it happens within the click."""
        if social == self.social and self._ctx.now - self._started_at < DOUBLE_CLICK_SECONDS:
            return
        self.cancel()
        self.social = social
        self._ref = self._ctx.new_ref()
        self._nonce = self._ctx.chance.token()
        self._reached = False
        self._started_at = self._ctx.now
        self._window = self._window or self._nonce
        self._ctx.do(KeepSignIn(f"{social} {self._nonce} {self._window}"))
        self._ctx.emit("oauth:started", social=social)
        self._ctx.do(OpenPopup(self._ref, self._url(social), f"chatkey-sign-in-{self._window}"))

    def cancel(self) -> None:
        """Cancel the sign-in in progress, whether this page or an earlier page began it.

        Later messages of this sign-in are ignored.
        """
        if self.social is not None or self._left is not None:
            self._left = None
            self._ctx.do(KeepSignIn(None))
        if self.social is not None:
            self.social = None
            self._ctx.do(ClosePopup(self._ref))

    def blocked(self, ref: int, *, in_page: bool) -> None:
        """Report that the browser opened no popup.

        If the popup would have replaced the page (`in_page`), or if the browser cannot store a key either, it is the
        built-in browser of an app, which never opens popups.
        """
        if not self._awaits(ref):
            return
        if in_page or self._ctx.key_in_memory:
            self.possible = False
            lacks = "open a window beside the page" if in_page else "store a key or open a window"
            self._fail(WidgetError(Fault.POPUP_UNSUPPORTED, f"This browser cannot {lacks}."))
        else:
            self.blocked_social = self.social
            self._fail(WidgetError(Fault.POPUP_BLOCKED, "window.open returned nothing."))

    def reached(self, ref: int) -> None:
        """Note that the popup shows the sign-in, and that this page still has access to the popup."""
        if self._awaits(ref):
            self._reached = True
            self._ctx.emit("oauth:opened", social=self.social)

    def closed(self, ref: int, *, blank: bool) -> None:
        """Report that the popup is gone without a result.

        A page in the popup can cut off the popup with a Cross-Origin-Opener-Policy. The popup then seems closed as soon
        as that page loads. When a person closes a popup, either the popup was always blank, or the widget has seen a
        page in it.
        """
        if not self._awaits(ref):
            return
        if blank or self._reached:
            self._fail(WidgetError(Fault.POPUP_CLOSED, "The popup was closed before it reported a result."))
        else:
            self._fail(WidgetError(Fault.POPUP_LOST, "The browser separated the popup from the page."))

    def message(self, event: PopupMessage) -> Social | None:
        """Check a message, and return the new member or None. Messages of other windows are ignored (D-09)."""
        data = event.data
        if not isinstance(data, Mapping):
            return None
        if self._is_of_earlier_page(event, data):
            self.social, self._nonce = self._left or ("", "")
        elif not (self._is_ours(event) and self._matches(data)):
            return None
        try:
            return self._result(data)
        except WidgetError as error:
            self._fail(error)
            return None

    def _awaits(self, ref: int) -> bool:
        return self.social is not None and ref == self._ref

    def _is_ours(self, event: PopupMessage) -> bool:
        return self.social is not None and event.from_popup and event.origin == self._ctx.settings.service_origin

    def _is_of_earlier_page(self, event: PopupMessage, data: Mapping[object, object]) -> bool:
        """Return whether the message is from an earlier page's popup. Only origin and nonce show this (D-09)."""
        if self.social is not None or self._left is None or event.origin != self._ctx.settings.service_origin:
            return False
        return self._has(data, *self._left)

    def _matches(self, data: Mapping[object, object]) -> bool:
        return self._has(data, self.social, self._nonce)

    def _has(self, data: Mapping[object, object], social: str | None, nonce: str) -> bool:
        provider_id = self._ctx.settings.provider_id
        expected = {"type": OAUTH_MESSAGE, "providerId": provider_id, "social": social, "nonce": nonce}
        return all(data.get(member) == value for member, value in expected.items())

    def _result(self, data: Mapping[object, object]) -> Social:
        token = data.get("token")
        if not isinstance(token, str):
            raise _refusal(data.get("error"))
        try:
            member = read_member(token, self._ctx)
        except WidgetError as error:
            raise WidgetError(Fault.OAUTH_FAILED, f"The identity token is unusable: {error.message}") from error
        if not isinstance(member, Social):
            raise WidgetError(Fault.OAUTH_FAILED, "The callback page sent a token that is not an identity token.")
        self._ctx.emit("oauth:completed", social=self.social, uid=member.uid)
        self.cancel()
        return member

    def _fail(self, error: WidgetError) -> None:
        self._ctx.emit("oauth:failed", social=self.social, code=error.code)
        self._ctx.report(error)
        self.cancel()

    def _url(self, social: str) -> str:
        settings = self._ctx.settings
        path = OAUTH_START_PATH.format(id=quote(settings.provider_id, safe=""), social=quote(social, safe=""))
        query = {"origin": settings.page_origin, "jkt": self._ctx.connection_key.jkt, "nonce": self._nonce}
        return f"{settings.base_url}{path}?{urlencode(query)}"


def _refusal(error: object) -> WidgetError:
    """Convert the error of the callback page into a `WidgetError`."""
    members = error if isinstance(error, Mapping) else {}
    code, message = members.get("code"), members.get("message")
    if not isinstance(code, str):
        return WidgetError(Fault.OAUTH_FAILED, "The callback page sent neither a token nor an error.")
    return WidgetError(code, message if isinstance(message, str) else "The sign-in failed.", phase="oauth")
