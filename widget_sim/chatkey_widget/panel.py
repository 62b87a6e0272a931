"""The state of the panel: whether it is open, which page it shows, and a view of the data of the other parts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from chatkey_protocol.names import STANDARD_CALL_TITLE, STANDARD_GREETING, STANDARD_TITLE
from chatkey_widget import texts
from chatkey_widget.chat import Chat
from chatkey_widget.context import Context
from chatkey_widget.effects import Show
from chatkey_widget.link_stages import Ready, Stage, Stopped, Waiting
from chatkey_widget.principal import Visitor, person
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.social import SocialFlow
from chatkey_widget.texts import Texts
from chatkey_widget.view import Appearance, Link, Page, Person, View

_LINKS: Final[Mapping[type[Stage], Link]] = {
    Ready: "online",
    Waiting: "offline",
    Stopped: "stopped",
}


class Panel:
    """Updates the screen, but only if something on the screen has changed."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.open = False
        self.page: Page = "chat"
        self._shown = View()

    def debug(self) -> dict[str, object]:
        return {"open": self.open, "page": self.page, "locale": self._shown.locale}

    def show(self, appearance: Appearance | None, link: ServiceLink, flow: SocialFlow, chat: Chat) -> None:
        """Show the current state. The page `sign-in` closes when there is a member."""
        if self.page == "sign-in" and not isinstance(link.principal, Visitor | None):
            self.page = "chat"
        known = appearance or Appearance()
        locale = self._locale(known)
        words = texts.speaking(locale)
        view = chat.show(
            replace(
                self._shown,
                visible=appearance is not None or self._ctx.notice is not None,
                open=self.open,
                page=self.page,
                appearance=_in_words(known, words),
                locale=locale,
                link=_LINKS.get(type(link.stage), "connecting"),
                person=_shown_person(link),
                signing_in=flow.social,
                sign_in_elsewhere=not flow.possible,
                blocked=flow.blocked_social if self._ctx.notice == "popup_blocked" else None,
                notice=self._ctx.notice and words.notices[self._ctx.notice],
            )
        )
        if view != self._shown:
            self._shown = view
            self._ctx.do(Show(view))

    def _locale(self, appearance: Appearance) -> str:
        """Return the language. The page's choice comes first, then the business's, then the browser's (D-12)."""
        settings = self._ctx.settings
        return texts.choose((settings.locale, appearance.locale, *settings.languages))


def _shown_person(link: ServiceLink) -> Person:
    """Return the person to show. A member's name is shown only after the server has accepted the member's token."""
    someone = person(link.principal)
    return someone if link.is_accepted else Person(member=someone.member)


def _in_words(appearance: Appearance, words: Texts) -> Appearance:
    """Replace default texts of the business with texts in the reader's language (D-12)."""
    return replace(
        appearance,
        title=words.title if appearance.title in {"", STANDARD_TITLE} else appearance.title,
        greeting=words.greeting if appearance.greeting == STANDARD_GREETING else appearance.greeting,
        call_title=words.call if appearance.call_title in {"", STANDARD_CALL_TITLE} else appearance.call_title,
    )
