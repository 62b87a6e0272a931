"""The beginning: a page that can have a widget, a key, and whoever was logged in when the last page was left."""

from typing import assert_never

from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.who import Who
from chatkey_widget.effects import LoadConfiguration, PrepareKey
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import KeyFailed, KeyReady, Started, StartEvent


class OnStart:
    """Decides whether there is a widget, and as whom it begins."""

    def __init__(self, parts: Parts, who: Who) -> None:
        self._ctx, self._cache, self._login = parts.ctx, parts.cache, parts.login
        self._who = who

    def handle(self, event: StartEvent) -> None:
        """Decide what follows from the event."""
        match event:
            case Started():
                self._started(event)
            case KeyReady():
                self._key_ready(event)
            case KeyFailed(reason):
                self._who.stop(WidgetError(Fault.KEY_UNAVAILABLE, reason))
            case _:
                assert_never(event)

    def _started(self, event: Started) -> None:
        if not event.secure:
            message = f"{self._ctx.settings.page_origin} is no secure context, so the browser gives the page no key."
            self._who.stop(WidgetError(Fault.INSECURE_CONTEXT, message))
            return
        if event.fault is not None and not self._ctx.settings.provider_id:
            self._who.stop(event.fault)
            return
        if event.fault is not None:
            self._ctx.report(event.fault)
        self._ctx.do(LoadConfiguration())
        self._ctx.do(PrepareKey())

    def _key_ready(self, event: KeyReady) -> None:
        self._ctx.key = event.key
        if event.lost is not None:
            self._ctx.emit("key:lost", reason=event.lost)
        self._ctx.key_in_memory = event.degraded is not None
        if event.degraded is not None:
            self._ctx.emit("storage:degraded", what="key", reason=event.degraded)
        self._ctx.emit("key:ready", jkt=event.key.jkt, uid=event.key.uid)
        self._cache.token = event.cached_token
        self._judge_cached()

    def _judge_cached(self) -> None:
        """Reuse a good cached token; drop a useless one before anything connects (contract 2.8, D-06)."""
        cached = self._cache.token
        member = None if cached is None else self._cache.member(cached)
        if member is None:
            self._cache.drop("unusable")
            self._begin_as_visitor()
        elif self._cache.lasts(member):
            self._ctx.emit("token:reused", uid=member.uid, expires_at=member.claims.expires_at)
            self._who.become(member)
        elif self._ctx.time.offset is None:
            # The page's clock may be wrong: the first answer of the service tells the time.
            self._cache.held = member
            self._who.become(self._who.visitor)
        else:
            self._cache.drop("expired")
            self._begin_as_visitor()

    def _begin_as_visitor(self) -> None:
        self._who.become(self._who.visitor)
        self._login.ask("load", self._cache.token)
