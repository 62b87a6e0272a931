"""Handles the start of the widget: checks whether the page can have a widget, and prepares the key."""

from typing import assert_never

from chatkey_widget.backoff import equal_jitter
from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.who import Who
from chatkey_widget.effects import LoadConfiguration, PrepareKey
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import KeyFailed, KeyReady, KeyTimedOut, Started, StartEvent
from chatkey_widget.link_stages import Stopped


class OnStart:
    """Decides whether the widget can run, and with which identity it starts."""

    def __init__(self, parts: Parts, who: Who) -> None:
        self._ctx, self._cache = parts.ctx, parts.cache
        self._link, self._flow, self._chat = parts.link, parts.flow, parts.chat
        self._who = who
        self._late = 0

    def handle(self, event: StartEvent) -> None:
        match event:
            case Started():
                self._started(event)
            case KeyReady():
                self._key_ready(event)
            case KeyTimedOut():
                self._key_late()
            case KeyFailed(reason):
                self._who.stop(WidgetError(Fault.KEY_UNAVAILABLE, reason))
            case _:
                assert_never(event)

    def _started(self, event: Started) -> None:
        if not event.secure:
            message = (
                f"{self._ctx.settings.page_origin} is not a secure context, so the browser gives the page no keys."
            )
            self._who.stop(WidgetError(Fault.INSECURE_CONTEXT, message))
            return
        if event.fault is not None and not self._ctx.settings.provider_id:
            self._who.stop(event.fault)
            return
        if event.fault is not None:
            self._ctx.report(event.fault)
        self._ctx.do(PrepareKey())
        self._ctx.do(LoadConfiguration())

    def _key_late(self) -> None:
        """Try again later. Only the first failure is reported to the page."""
        self._late += 1
        if self._late == 1:
            self._ctx.report(WidgetError(Fault.KEY_TIMEOUT, "The browser has not provided a key in time."))
        self._ctx.set_timer("key", equal_jitter(self._late, fraction=self._ctx.chance.fraction()))

    def _key_ready(self, event: KeyReady) -> None:
        if self._ctx.notice_phase == "key":
            self._ctx.notice = None
        self._ctx.key = event.key
        if event.lost is not None:
            self._ctx.emit("key:lost", reason=event.lost)
        self._ctx.key_in_memory = event.degraded is not None
        if event.degraded is not None:
            self._ctx.emit("storage:degraded", what="key", reason=event.degraded)
        self._ctx.emit("key:ready", jkt=event.key.jkt, uid=event.key.uid)
        self._cache.token = event.cached_token
        self._flow.resume(event.sign_in)
        self._chat.restore(event.unsent, self._who.visitor.uid)
        if event.call is not None:
            self._chat.sound.resume(event.call)
        if not isinstance(self._link.stage, Stopped):  # the service may already have refused this page
            self._who.begin()
