"""The state machine of the widget.

It receives events and returns effects. One module of `decisions` handles each group of events.
"""

from typing import Final, assert_never

from chatkey_widget import events, inspection
from chatkey_widget.context import Chance, Context, Settings
from chatkey_widget.decisions.get_token import OnGetToken
from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.screen import OnScreen
from chatkey_widget.decisions.service import OnService
from chatkey_widget.decisions.sign_in import OnSignIn
from chatkey_widget.decisions.start import OnStart
from chatkey_widget.decisions.who import Who
from chatkey_widget.effects import Effect, LoadConfiguration, PrepareKey, TearDown
from chatkey_widget.errors import WidgetError
from chatkey_widget.server_time import ServerTime
from chatkey_widget.timers import Timer

_KEPT_FOR_THE_KEY: Final = (events.RefreshAsked, events.LogoutAsked, events.PopupMessage)
"""Events that wait for the key if they happen before the key is ready."""


class Machine:
    """One widget on one page, independent of the browser. It takes events and returns effects to carry out."""

    def __init__(self, settings: Settings, chance: Chance, time: ServerTime | None = None) -> None:
        self._ctx = Context(settings, chance, time=time or ServerTime())
        self._parts = parts = Parts.of(self._ctx)
        who = Who(parts)
        self._on_start = OnStart(parts, who)
        self._on_service = OnService(parts, who)
        self._on_get_token = OnGetToken(parts, who)
        self._on_sign_in = OnSignIn(parts, who)
        self._on_screen = OnScreen(parts, who)
        self._early: list[events.Event] = []
        self._over = False

    def handle(self, event: events.Event, now: float) -> list[Effect]:
        """Process one event at the page's time `now` (seconds since the epoch). Return the effects, in order."""
        if self._over:
            return []
        self._ctx.go_on(now)
        self._dispatch(event)
        if not self._over:
            self._parts.chat.keep()
            self._on_screen.show()
        return self._ctx.take_effects()

    def debug(self) -> dict[str, object]:
        """Return the state for debugging. It is safe to paste into a ticket."""
        return {
            **inspection.of(self._ctx, self._parts.link),
            "cached_token": self._parts.cache.token is not None,
            "signing_in": self._parts.flow.social,
            "panel": self._parts.panel.debug(),
        }

    def note(self, error: WidgetError) -> None:
        """Record an error for `debug()`. The error has already been reported to the page."""
        self._ctx.note("error", error.detail())

    def _dispatch(self, event: events.Event) -> None:
        if self._ctx.key is None and isinstance(event, _KEPT_FOR_THE_KEY):
            self._early.append(event)
        elif isinstance(event, events.StartEvent):
            self._on_start.handle(event)
            self._catch_up()
        elif isinstance(event, events.ServiceEvent):
            self._on_service.handle(event)
        elif isinstance(event, events.GetTokenEvent):
            self._on_get_token.handle(event)
        elif isinstance(event, events.SignInEvent):
            self._on_sign_in.handle(event)
        elif isinstance(event, events.ScreenEvent):
            self._on_screen.handle(event)
        elif isinstance(event, events.SoundEvent):
            self._parts.chat.heard(event)
            if isinstance(event, events.SoundChanged) and event.state == "interrupted":
                self._on_service.follow(self._parts.link.wake())
        else:
            self._handle(event)

    def _handle(self, event: events.MachineEvent) -> None:
        """Handle events that concern the whole widget, or more than one part of it."""
        match event:
            case events.TokenNotStored(reason):
                self._token_not_stored(reason)
            case events.TimerFired(name):
                if self._ctx.timers.pop(name, None) is not None:
                    self._due(name)
            case events.Woken():
                self._ctx.hasten("configuration")
                self._on_service.follow(self._parts.link.wake())
            case events.ShutdownAsked():
                self._shut_down()
            case _:
                assert_never(event)

    def _catch_up(self) -> None:
        if self._ctx.key is not None:
            early, self._early = self._early, []
            for event in early:
                self._dispatch(event)

    def _token_not_stored(self, reason: str) -> None:
        if "storage:degraded" not in self._ctx.counters:
            self._ctx.emit("storage:degraded", what="token", reason=reason)

    def _due(self, name: Timer) -> None:  # noqa: PLR0912 (one line per timer)
        parts = self._parts
        match name:
            case "renew":
                parts.login.settled()
                parts.login.ask("renew", parts.cache.token)
            case "getToken":
                parts.login.again(parts.cache.token)
            case "configuration":
                self._ctx.do(LoadConfiguration())
            case "key":
                self._ctx.do(PrepareKey())
            case "call":
                parts.chat.call_over()
            case "sound":
                parts.chat.sound.late()
            case "second":
                parts.chat.call_goes_on()
            case "gap":
                parts.chat.fill_gap()
            case "next":
                parts.chat.post_next()
            case "again":
                if parts.link.is_ready:
                    parts.chat.again()
            case "connect" | "doubt" | "heartbeat" | "probe" | "reconnect" | "refresh" | "stable":
                self._on_service.follow(parts.link.timer(name))
                self._on_screen.look()
            case _:
                assert_never(name)

    def _shut_down(self) -> None:
        self._parts.login.cancel()
        self._parts.flow.cancel()
        self._parts.chat.leave_call()
        self._parts.chat.keep()
        self._parts.link.stop()
        for name in list(self._ctx.timers):
            self._ctx.cancel_timer(name)
        self._ctx.emit("shutdown")
        self._ctx.do(TearDown())
        self._over = True
