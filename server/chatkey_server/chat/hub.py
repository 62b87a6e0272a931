"""Fan-out: who hears of a new message or call, in this process and, through a link, in the others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from litestar.plugins import InitPlugin

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.config.app import AppConfig

Listener = Callable[[bytes], None]
"""Takes a payload at once, without waiting: it queues what it cannot pass on."""

Hear = Callable[[str, bytes], None]
"""Takes a channel's name and a payload."""

Join = Callable[[str], None]
"""Takes the name of a channel that is heard from others from now on."""

MISSED: Final = "missed"
"""The channel on which processes are told that some of them may not have heard everything. Its payloads are empty."""

log = structlog.get_logger("chatkey.hub")


class Link(Protocol):
    """What carries payloads to the hubs of other processes, and theirs to this one."""

    def running(self, hear: Hear, joined: Join) -> AbstractAsyncContextManager[None]:
        """Carry payloads while the context lasts; those of others are handed to `hear`, one's own are not.

        Where payloads may have been lost, `MISSED` is published, here and to the others whom it concerns. A channel
        that is heard at last is told to `joined`.
        """
        ...

    @property
    def is_connected(self) -> bool:
        """Whether the other processes are heard, as far as is known."""
        ...

    def want(self, channel: str) -> None:
        """Hear what others say on a channel, as soon as may be."""
        ...

    def leave(self, channel: str) -> None:
        """Hear a channel no longer."""
        ...

    def say(self, channel: str, payload: bytes) -> None:
        """Send to every other process, without waiting."""
        ...

    async def announce(self, *news: tuple[str, bytes]) -> None:
        """Send by itself, without listening, and wait until it is sent. Raises what says that it cannot be."""
        ...


class Hub(InitPlugin):
    """Publishes small payloads on named channels; give it to Litestar as a plugin.

    Listeners of this process are called at once, whatever becomes of the link. What others say is carried here only on
    channels that somebody here listens to.
    """

    def __init__(self, link: Link | None = None) -> None:
        self._link = link
        self._listeners: dict[str, set[Listener]] = {}
        self._on_join: list[Join] = []

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Start and stop with the app."""
        app_config.lifespan.append(self._lifespan)
        return app_config

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be connected with the other processes while the context lasts."""
        async with self._link.running(self.tell_here, self._joined) if self._link is not None else nullcontext():
            yield

    @property
    def is_alone(self) -> bool:
        """Whether there is nothing that connects it with other processes."""
        return self._link is None

    @property
    def is_connected(self) -> bool:
        """Whether the others are heard, as far as is known."""
        return self._link is not None and self._link.is_connected

    def publish(self, channel: str, payload: bytes) -> None:
        """Send to every listener of the channel, without waiting."""
        self.tell_here(channel, payload)
        if self._link is not None:
            self._link.say(channel, payload)

    def tell_here(self, channel: str, payload: bytes) -> None:
        """Send to the listeners of the channel in this process; one that fails does not keep it from the others."""
        for listener in tuple(self._listeners.get(channel, ())):
            try:
                listener(payload)
            except Exception:
                log.exception("hub.failed", channel=channel.partition(":")[0])

    def has_listeners(self, channel: str) -> bool:
        """Tell whether anybody in this process listens."""
        return channel in self._listeners

    def add(self, channel: str, listener: Listener) -> None:
        """Hand what is published on the channel to `listener`, until it is removed."""
        if channel not in self._listeners and self._link is not None:
            self._link.want(channel)
        self._listeners.setdefault(channel, set()).add(listener)

    def remove(self, channel: str, listener: Listener) -> None:
        """Hand nothing more to `listener`."""
        listeners = self._listeners.get(channel, set())
        listeners.discard(listener)
        if listeners or self._listeners.pop(channel, None) is None:
            return
        if self._link is not None:
            self._link.leave(channel)

    def on_join(self, join: Join) -> None:
        """Tell `join` of each channel on which others may have spoken before they were heard here."""
        self._on_join.append(join)

    @contextmanager
    def listen(self, channel: str, listener: Listener) -> Iterator[None]:
        """Hand what is published on the channel to `listener` while the context lasts."""
        self.add(channel, listener)
        try:
            yield
        finally:
            self.remove(channel, listener)

    def _joined(self, channel: str) -> None:
        for join in self._on_join:
            join(channel)

    @asynccontextmanager
    async def _lifespan(self, _: Litestar) -> AsyncGenerator[None, None]:
        async with self.running():
            yield
