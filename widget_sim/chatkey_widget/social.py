"""Social login as the page sees it: a popup, a message, a nonce (contract 4.6, D-07, D-09)."""

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
"""Whoever presses a button twice in this time means it once."""


class SocialFlow:
    """At most one sign-in under way; a new click replaces the one before."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.social: str | None = None
        self.blocked_social: str | None = None
        self.possible = ctx.settings.popups
        self._ref = 0
        self._nonce = ""
        self._left: tuple[str, str] | None = None
        """Provider and nonce of a sign-in that an earlier page of this tab began, whose window may still be open."""
        self._reached = False
        self._started_at = 0.0

    def resume(self, kept: str | None) -> None:
        """Await what an earlier page of this tab began."""
        social, _, nonce = (kept or "").partition(" ")
        self._left = (social, nonce) if nonce else None

    def start(self, social: str) -> None:
        """Open the popup; the browser allows it because this happens within the click."""
        if social == self.social and self._ctx.now - self._started_at < DOUBLE_CLICK_SECONDS:
            return
        self.cancel()
        self.social = social
        self._ref = self._ctx.new_ref()
        self._nonce = self._ctx.chance.token()
        self._reached = False
        self._started_at = self._ctx.now
        self._ctx.do(KeepSignIn(f"{social} {self._nonce}"))
        self._ctx.emit("oauth:started", social=social)
        self._ctx.do(OpenPopup(self._ref, self._url(social)))

    def cancel(self) -> None:
        """Forget the sign-in under way, here or of an earlier page; what it still says is ignored."""
        if self.social is not None or self._left is not None:
            self._left = None
            self._ctx.do(KeepSignIn(None))
        if self.social is not None:
            self.social = None
            self._ctx.do(ClosePopup(self._ref))

    def blocked(self, ref: int) -> None:
        """The browser opened nothing. One that keeps no key either is an app's own, and never will."""
        if not self._awaits(ref):
            return
        if self._ctx.key_in_memory:
            self.possible = False
            self._fail(WidgetError(Fault.POPUP_UNSUPPORTED, "This browser neither keeps a key nor opens a window."))
        else:
            self.blocked_social = self.social
            self._fail(WidgetError(Fault.POPUP_BLOCKED, "window.open returned nothing."))

    def reached(self, ref: int) -> None:
        """The sign-in has begun in the popup, which is still ours."""
        if self._awaits(ref):
            self._reached = True
            self._ctx.emit("oauth:opened", social=self.social)

    def closed(self, ref: int, *, blank: bool) -> None:
        """The popup is gone without a word.

        A popup that its first page cuts off (Cross-Origin-Opener-Policy) looks closed as soon as that page comes; one
        that somebody closes was either blank to the end, or had been seen with a page in it.
        """
        if not self._awaits(ref):
            return
        if blank or self._reached:
            self._fail(WidgetError(Fault.POPUP_CLOSED, "The popup was closed before it reported a result."))
        else:
            self._fail(WidgetError(Fault.POPUP_LOST, "The browser cut the popup off from the page."))

    def message(self, event: PopupMessage) -> Social | None:
        """Judge a message; returns the member it makes, or None. Whatever is not the popup's own is ignored (D-09)."""
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
        """The window is not ours any more, so only origin and nonce can say whose it is (D-09)."""
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
            raise WidgetError(Fault.OAUTH_FAILED, f"The identity token is of no use: {error.message}") from error
        if not isinstance(member, Social):
            raise WidgetError(Fault.OAUTH_FAILED, "The callback page sent a token that is no identity token.")
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
    """Turn the callback page's error into the widget's."""
    members = error if isinstance(error, Mapping) else {}
    code, message = members.get("code"), members.get("message")
    if not isinstance(code, str):
        return WidgetError(Fault.OAUTH_FAILED, "The callback page sent neither a token nor an error.")
    return WidgetError(code, message if isinstance(message, str) else "Signing in failed.", phase="oauth")
