"""The open panel: the person, the connection, the notice, the call, and one of three pages."""

from collections.abc import Callable, Sequence
from typing import Any

from chatkey_widget import events
from chatkey_widget.browser.dom import element, icon, icon_button, replace, set_attribute
from chatkey_widget.browser.js_values import Listeners
from chatkey_widget.browser.pages import ChatPage, SearchPage, SignInPage
from chatkey_widget.browser.words import Words
from chatkey_widget.texts import initials
from chatkey_widget.view import Device, DeviceKind, Page, SoundShown, View

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
        self._call_text = element("span", role="status")
        self._timer = element("span", role="timer", class_="timer", dir="ltr")
        self._hang_up = element("button", type="button", class_="hang-up", text=texts.hang_up)
        said_of_call = element("div", self._call_text, self._timer, class_="said")
        self._meter = element(
            "div",
            element("span"),
            class_="meter",
            role="meter",
            aria_label=texts.level,
            aria_valuemin="0",
            aria_valuemax="100",
            aria_valuenow="0",
            hidden="",
        )
        self._mute = icon_button("microphone", texts.mute, class_="quiet", aria_pressed="false", hidden="")
        self._play = element("button", type="button", class_="link", text=texts.play_sound, hidden="")
        self._devices: dict[DeviceKind, Any] = {
            "microphone": element("select", class_="device", aria_label=texts.microphone, dir="auto", hidden=""),
            "speaker": element("select", class_="device", aria_label=texts.speaker, dir="auto", hidden=""),
        }
        self._call_bar = element(
            "div",
            icon("call"),
            said_of_call,
            self._play,
            self._meter,
            self._mute,
            self._hang_up,
            *self._devices.values(),
            class_="call-bar",
            hidden="",
            data_testid="chatkey-call-bar",
        )
        self.chat = ChatPage(feed, self._listeners, words)
        self._pages: dict[Page, ChatPage | SearchPage | SignInPage] = {
            "chat": self.chat,
            "search": SearchPage(feed, self._listeners, words),
            "sign-in": SignInPage(feed, self._listeners, words.texts),
        }
        self._view = View()
        self._call_shown = self._view.call
        self._devices_shown: tuple[Device, ...] = ()
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
            self._call_bar,
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
        on(self._mute, "click", lambda _event: self._feed(events.MuteAsked(not self._view.sound.muted)))
        on(self._play, "click", lambda _event: self._feed(events.PlayAsked()))
        for select in self._devices.values():
            on(select, "change", self._choose_device)
        on(self._hang_up, "click", lambda _event: self._feed(events.CallAsked("end")))

    def _choose_device(self, event: Any) -> None:
        chosen = event.target
        kind: DeviceKind = "microphone" if chosen == self._devices["microphone"] else "speaker"
        self._feed(events.DeviceChosen(kind, chosen.value))

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
        busy = view.call in {"calling", "ringing", "active"}
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
        self._draw_call(view)

    def _draw_call(self, view: View) -> None:
        """Show the state of the call. The text is set only if it changes, because screen readers read every update."""
        texts = self._texts
        waiting = {"asking": texts.asking_microphone, "connecting": texts.connecting_sound}
        text = waiting.get(view.sound.state, texts.calls[view.call])
        if (self._call_shown, self._call_text.textContent) != (view.call, text):
            self._call_shown = self._call_bar.dataset.state = view.call
            self._call_text.textContent = text
        self._draw_sound(view.sound)
        self._timer.textContent = "" if view.call_seconds is None else self._words.duration(view.call_seconds)
        set_attribute(self._call_bar, "hidden", "" if view.call == "none" else None)
        set_attribute(self._hang_up, "hidden", "" if view.call == "ended" else None)

    def show_level(self, level: float) -> None:
        """Show the level of the microphone, from 0 to 1."""
        percent = round(100 * level)
        self._meter.setAttribute("aria-valuenow", str(percent))
        self._meter.style.setProperty("--level", f"{percent}%")

    def _draw_sound(self, sound: SoundShown) -> None:
        connected = sound.state == "connected"
        for shown, wanted in ((self._meter, connected), (self._mute, connected), (self._play, sound.silent)):
            set_attribute(shown, "hidden", None if wanted else "")
        if sound.devices != self._devices_shown:
            self._devices_shown = sound.devices
            for kind, select in self._devices.items():
                _offer(select, [device for device in sound.devices if device.kind == kind])
        label = self._texts.unmute if sound.muted else self._texts.mute
        self._mute.setAttribute("aria-pressed", str(sound.muted).lower())
        self._mute.setAttribute("aria-label", label)
        self._mute.title = label


def _offer(select: Any, devices: Sequence[Device]) -> None:
    """Fill the select box with the devices. With a single device there is no choice."""
    options = [
        element("option", text=device.label, value=device.id, selected="" if device.used else None)
        for device in devices
    ]
    select.replaceChildren(*options)
    set_attribute(select, "hidden", None if len(options) > 1 else "")
