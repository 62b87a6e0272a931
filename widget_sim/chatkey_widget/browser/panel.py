"""The open panel: the person, the connection, the notice, and one of three pages."""

from collections.abc import Callable
from typing import Any

from chatkey_widget import events
from chatkey_widget.browser.dom import element, icon_button, replace, set_attribute
from chatkey_widget.browser.js_values import Listeners
from chatkey_widget.browser.pages import ChatPage, SearchPage, SignInPage
from chatkey_widget.browser.words import Words
from chatkey_widget.texts import initials
from chatkey_widget.view import Page, View

Feed = Callable[[events.Event], None]


class Panel:
    """The panel. It is created when it is first opened, and exists from then on."""

    def __init__(self, feed: Feed, words: Words) -> None:
        self._feed = feed
        self._words, self._texts = words, words.texts
        texts = words.texts
        self._listeners = Listeners()
        self._title = element("bdi")
        self._status = element("p", role="status", class_="status")
        self._search = icon_button("search", texts.search, class_="quiet", data_testid="chatkey-search")
        self._call = icon_button("call", "", class_="quiet", data_testid="chatkey-call")
        self._close = icon_button("close", texts.close, class_="quiet", data_testid="chatkey-close")
        self._avatar = element("span", class_="avatar", aria_hidden="true")
        self._who = element("span", class_="name")
        self._sign = element("button", type="button", class_="link")
        self._notice_text = element("p")
        self._dismiss = icon_button("close", texts.dismiss, class_="quiet small")
        self._open_sign_in = element(
            "button", type="button", class_="link", hidden="", data_testid="chatkey-open-sign-in"
        )
        said = element("div", self._notice_text, self._open_sign_in, class_="said")
        self._notice = element("div", said, self._dismiss, class_="notice", role="alert", hidden="")
        self.chat = ChatPage(feed, self._listeners, words)
        self._pages: dict[Page, ChatPage | SearchPage | SignInPage] = {
            "chat": self.chat,
            "search": SearchPage(feed, self._listeners, words),
            "sign-in": SignInPage(feed, self._listeners, words.texts),
        }
        self._view = View()
        self._pictured: tuple[str | None, str] = (None, "")
        self._picture_listeners = Listeners()
        self.element = self._assemble()
        self._listen()

    def show(self, view: View, old: View) -> None:
        self._view = view
        set_attribute(self.element, "hidden", None if view.open else "")
        self._draw_header(view)
        self._draw_identity(view)
        self._draw_bars(view)
        for name, page in self._pages.items():
            set_attribute(page.element, "hidden", None if name == view.page else "")
            page.show(view, old)
        if view.open and view.page != old.page:
            self.focus()

    def release(self) -> None:
        """Remove the panel from the page, and remove its listeners."""
        self._listeners.remove_all()
        self._picture_listeners.remove_all()
        self.element.remove()

    def take(self, call_bar: Any) -> None:
        """Show the call inside the panel."""
        if self._notice.nextSibling != call_bar:  # moving an element takes the focus away
            self._notice.after(call_bar)

    def focus(self) -> None:
        """Move the focus to the element that the person needs first."""
        self._pages[self._view.page].focus()

    def _assemble(self) -> Any:
        heading = element("div", element("h2", self._title, id="title"), self._status, class_="heading")
        header = element("header", heading, self._call, self._search, self._close)
        identity = element("div", self._avatar, self._who, self._sign, class_="identity")
        pages = [page.element for page in self._pages.values()]
        return element(
            "section",
            header,
            identity,
            self._notice,
            *pages,
            class_="panel",
            role="dialog",
            aria_labelledby="title",
            data_testid="chatkey-panel",
        )

    def _listen(self) -> None:
        on = self._listeners.add
        on(self._close, "click", lambda _event: self._feed(events.PanelToggled(open=False)))
        on(self._search, "click", lambda _event: self._turn_to("search"))
        on(self._sign, "click", lambda _event: self._sign_in_or_out())
        on(self._open_sign_in, "click", lambda _event: self._reopen())
        on(self._dismiss, "click", lambda _event: self._feed(events.NoticeDismissed()))
        on(self._call, "click", lambda _event: self._feed(events.CallAsked("start")))

    def _reopen(self) -> None:
        """Open the sign-in window within this click.

        A browser that blocked the window before allows it during a click.
        """
        if self._view.blocked is not None:
            self._feed(events.SocialClicked(self._view.blocked))

    def _turn_to(self, page: Page) -> None:
        self._feed(events.PageChosen("chat" if self._view.page == page else page))

    def _sign_in_or_out(self) -> None:
        if self._view.person.member:
            self._feed(events.LogoutAsked())
        else:
            self._turn_to("sign-in")

    def _draw_header(self, view: View) -> None:
        appearance = view.appearance
        busy = view.call not in {"none", "ended"}
        self._title.textContent = appearance.title
        self._status.textContent = self._texts.links[view.link]
        self._status.dataset.link = view.link
        self._search.setAttribute("aria-pressed", str(view.page == "search").lower())
        set_attribute(self._call, "hidden", None if appearance.can_call else "")
        self._call.setAttribute("aria-label", appearance.call_title)
        self._call.title = appearance.call_title
        self._call.disabled = busy or view.link != "online"

    def _draw_identity(self, view: View) -> None:
        person = view.person
        name = person.name or ""
        self._who.textContent = self._identity(view)
        self._sign.textContent = self._texts.sign_out if person.member else self._texts.sign_in
        self._sign.dataset.testid = "chatkey-sign-out" if person.member else "chatkey-sign-in"
        offered = person.member or bool(view.appearance.socials)
        set_attribute(self._sign, "hidden", None if offered else "")
        set_attribute(self._avatar, "hidden", None if name else "")
        if (person.avatar, name) != self._pictured:
            self._pictured = person.avatar, name
            self._draw_avatar(person.avatar, name)

    def _identity(self, view: View) -> str:
        """Return the text that says who is chatting, as far as that is known."""
        if view.person.name is not None:
            return self._texts.member.format(name=view.person.name)
        if view.link == "stopped":
            return ""
        return self._texts.signing_in if view.person.member else self._texts.visitor

    def _draw_avatar(self, address: str | None, name: str) -> None:
        """Show the initials, and replace them with the picture when the picture has loaded."""
        self._picture_listeners.remove_all()
        self._avatar.textContent = initials(name)
        if address is not None and address.startswith("https://"):
            picture = element("img", src=address, alt="", referrerpolicy="no-referrer", hidden="")
            self._picture_listeners.add(picture, "load", lambda _event: self._show_picture(picture))
            self._avatar.append(picture)

    def _show_picture(self, picture: Any) -> None:
        set_attribute(picture, "hidden", None)
        replace(self._avatar, picture)

    def _draw_bars(self, view: View) -> None:
        self._notice_text.textContent = view.notice or ""
        set_attribute(self._notice, "hidden", "" if view.notice is None else None)
        self._open_sign_in.textContent = self._texts.open_sign_in if view.blocked is not None else ""
        set_attribute(self._open_sign_in, "hidden", "" if view.blocked is None else None)
