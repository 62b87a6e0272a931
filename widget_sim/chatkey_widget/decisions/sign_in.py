"""Handles the person's login and logout, in this tab and in others."""

from typing import assert_never

from chatkey_widget import events
from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.who import Who


class OnSignIn:
    """Handles social logins, and logouts from any kind of login."""

    def __init__(self, parts: Parts, who: Who) -> None:
        self._ctx, self._link, self._login = parts.ctx, parts.link, parts.login
        self._flow, self._cache, self._panel = parts.flow, parts.cache, parts.panel
        self._configuration = parts.configuration
        self._who = who

    def handle(self, event: events.SignInEvent) -> None:
        match event:
            case events.SocialClicked(social):
                self._social_clicked(social)
            case events.PopupBlocked(ref, in_page):
                self._flow.blocked(ref, in_page=in_page)
            case events.PopupReached(ref):
                self._flow.reached(ref)
            case events.PopupClosed(ref, blank):
                self._flow.closed(ref, blank=blank)
            case events.PopupMessage():
                self._popup_message(event)
            case events.LogoutAsked(heard):
                self._logout(heard=heard)
            case events.StoredTokenChanged(token):
                self._stored_token_changed(token)
            case _:
                assert_never(event)

    def _social_clicked(self, social: str) -> None:
        if self._ctx.key is not None and social in self._configuration.socials:
            self._ctx.notice = None
            self._flow.start(social)

    def _popup_message(self, event: events.PopupMessage) -> None:
        member = self._flow.message(event)
        if member is None:
            return
        self._login.cancel()
        self._cache.held = None
        self._panel.page = "chat"
        self._link.forgive()
        self._cache.keep(member.token)
        self._who.become(member)

    def _logout(self, *, heard: bool) -> None:
        """Log out. A login in progress ends too, even if nobody is logged in."""
        if self._who.member is not None or not heard:
            self._ctx.emit("logout", heard=heard)
        self._who.forget("logout", heard=heard)

    def _stored_token_changed(self, token: str | None) -> None:
        if token == self._cache.token or self._ctx.key is None:
            return
        if token is not None:
            self._who.adopt(token)
        elif self._who.member is None:
            self._cache.token = None
        elif self._cache.lasts(self._who.member):
            self._logout(heard=True)
        # Otherwise the token had expired, and another tab deleted it. This is no logout.
