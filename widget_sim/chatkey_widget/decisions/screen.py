"""Handles the person's actions in the panel: opening it, changing its page, writing, searching, calling."""

from typing import assert_never

from chatkey_widget import events
from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.who import Who
from chatkey_widget.effects import LoadConfiguration
from chatkey_widget.link_stages import Stopped
from chatkey_widget.view import Page


class OnScreen:
    """Decides what the panel shows, and passes the other actions to the chat."""

    def __init__(self, parts: Parts, who: Who) -> None:
        self._ctx, self._link, self._flow = parts.ctx, parts.link, parts.flow
        self._chat, self._panel = parts.chat, parts.panel
        self._configuration = parts.configuration
        self._who = who

    def handle(self, event: events.ScreenEvent) -> None:
        match event:
            case events.PanelToggled(is_open):
                self._toggle(is_open=is_open)
            case events.PageChosen(page):
                self._turn_to(page)
            case events.MessageWritten(body):
                self._chat.write(body)
            case events.SearchAsked(query):
                self._chat.search(query)
            case events.OlderAsked():
                self._chat.older()
            case events.CallAsked(action):
                self._chat.call(action)
            case events.MuteAsked(muted):
                self._chat.sound.mute(muted=muted)
            case events.PlayAsked():
                self._chat.sound.play()
            case events.DeviceChosen(kind, device_id):
                self._chat.sound.use(kind, device_id)
            case events.NoticeDismissed():
                self._ctx.notice = None
            case _:
                assert_never(event)

    def look(self) -> None:
        """Keep the business's configuration up to date while the panel is open."""
        if self._panel.open:
            self._configuration.freshen()

    def show(self) -> None:
        self._panel.show(self._configuration.appearance, self._link, self._flow, self._chat)

    def _toggle(self, *, is_open: bool) -> None:
        self._panel.open = is_open
        if is_open:
            self._chat.read()
            self._try_again()
        self.look()

    def _try_again(self) -> None:
        """Connect again, because the person wants to chat. The service may now accept what it refused earlier."""
        if self._ctx.key is None or not isinstance(self._link.stage, Stopped):
            return
        if self._configuration.appearance is None:
            self._ctx.do(LoadConfiguration())
        self._link.forgive()
        if self._link.principal is None:
            self._who.begin()
        else:
            self._who.become(self._link.principal)

    def _turn_to(self, page: Page) -> None:
        self._panel.page = page
        if page != "search":
            self._chat.search("")
        self.look()
