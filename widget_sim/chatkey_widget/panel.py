"""The panel: open or closed, at one of its pages, showing what the other parts know."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from chatkey_widget import texts
from chatkey_widget.chat import Chat
from chatkey_widget.context import Context
from chatkey_widget.effects import Show
from chatkey_widget.link_stages import Ready, Stage, Stopped, Waiting
from chatkey_widget.principal import Visitor, person
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.social import SocialFlow
from chatkey_widget.view import Appearance, Link, Page, View

_LINKS: Final[Mapping[type[Stage], Link]] = {
    Ready: "online",
    Waiting: "offline",
    Stopped: "stopped",
}


class Panel:
    """Draws the screen anew only where something on it has changed."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.open = False
        self.page: Page = "chat"
        self._shown = View()

    def debug(self) -> dict[str, object]:
        """Return what of the panel helps those who look inside."""
        return {"open": self.open, "page": self.page, "locale": self._shown.locale}

    def show(self, appearance: Appearance | None, link: ServiceLink, flow: SocialFlow, chat: Chat) -> None:
        """Show what there is now. A member has nothing to do at the page `sign-in`."""
        if self.page == "sign-in" and not isinstance(link.principal, Visitor | None):
            self.page = "chat"
        known = appearance or Appearance()
        locale = self._locale(known)
        view = chat.show(
            replace(
                self._shown,
                visible=appearance is not None or self._ctx.notice is not None,
                open=self.open,
                page=self.page,
                appearance=known,
                locale=locale,
                link=_LINKS.get(type(link.stage), "connecting"),
                person=person(link.principal),
                signing_in=flow.social,
                sign_in_elsewhere=not flow.possible,
                blocked=flow.blocked_social if self._ctx.notice == "popup_blocked" else None,
                notice=self._ctx.notice and texts.speaking(locale).notices[self._ctx.notice],
            )
        )
        if view != self._shown:
            self._shown = view
            self._ctx.do(Show(view))

    def _locale(self, appearance: Appearance) -> str:
        """The page's choice comes first, then the business's, then the browser's (D-12)."""
        settings = self._ctx.settings
        return texts.choose((settings.locale, appearance.locale, *settings.languages))
