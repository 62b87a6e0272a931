"""Passes new messages and calls to listeners in this process and, through a link, to listeners in other processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Final, Protocol

import structlog
from litestar.plugins import InitPlugin

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.config.app import AppConfig

Listener = Callable[[bytes], None]
"""Receives a payload. It must not block: it queues data that it cannot send at once."""

Hear = Callable[[str, bytes], None]
"""Receives a channel's name and a payload."""

Join = Callable[[str], None]
"""Receives the name of a channel to which this process is now subscribed."""

MISSED: Final = "missed"
"""The channel that tells processes that some of them may have missed payloads. Its own payloads are empty."""

log = structlog.get_logger("chatkey.hub")


class Link(Protocol):
    """Carries payloads between the hub of this process and the hubs of other processes."""

    def running(self, hear: Hear, joined: Join) -> AbstractAsyncContextManager[None]:
        """Carry payloads while the context lasts, and pass the payloads of other processes to `hear`.

        If payloads may have been lost, `MISSED` is published in this process and in the other affected processes.
        `joined` is called with each channel as soon as the subscription works.
        """
        ...

    @property
    def is_connected(self) -> bool:
        """Whether the link to the other processes seems to work."""
        ...

    @property
    def processes(self) -> int:
        """The number of processes when the link last worked, with this one."""
        ...

    def want(self, channel: str) -> None:
        """Subscribe to a channel as soon as possible."""
        ...

    def leave(self, channel: str) -> None:
        """Unsubscribe from a channel."""
        ...

    def say(self, channel: str, payload: bytes) -> None:
        """Send a payload to every other process, without waiting."""
        ...

    async def announce(self, *news: tuple[str, bytes]) -> None:
        """Publish without running the link, and wait until everything is sent. Raises an error if sending fails."""
        ...


class Hub(InitPlugin):
    """Publishes small payloads on named channels. The hub is a Litestar plugin.

    Listeners in this process are called even if the link does not work. Payloads of other processes arrive only on
    channels that have a listener in this process.
    """

    def __init__(self, link: Link | None = None) -> None:
        self._link = link
        self._listeners: dict[str, set[Listener]] = {}
        self._on_join: list[Join] = []

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        app_config.lifespan.append(self._lifespan)
        return app_config

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the link to the other processes open while the context lasts."""
        async with self._link.running(self.tell_here, self._joined) if self._link is not None else nullcontext():
            yield

    @property
    def is_alone(self) -> bool:
        """Whether this process has no link to other processes."""
        return self._link is None

    @property
    def is_connected(self) -> bool:
        """Whether the link to the other processes seems to work. False without a link."""
        return self._link is not None and self._link.is_connected

    @property
    def processes(self) -> int:
        """The number of processes of this deployment, as far as this one knows."""
        return 1 if self._link is None else self._link.processes

    def publish(self, channel: str, payload: bytes) -> None:
        """Send a payload to the channel's listeners in all processes. Those in this process are called at once."""
        self.tell_here(channel, payload)
        if self._link is not None:
            self._link.say(channel, payload)

    def publish_all(self, news: Sequence[tuple[str, bytes]]) -> None:
        """Publish payloads on channels, in this order. The other processes come first, because the way there is longer.

        The listeners in this process are called in the event loop's next round.
        """
        if self._link is not None:
            for channel, payload in news:
                self._link.say(channel, payload)
        asyncio.get_running_loop().call_soon(self._tell_all_here, news)

    def _tell_all_here(self, news: Sequence[tuple[str, bytes]]) -> None:
        for channel, payload in news:
            self.tell_here(channel, payload)

    def tell_here(self, channel: str, payload: bytes) -> None:
        """Send a payload to the channel's listeners in this process, even if one of the listeners fails."""
        for listener in tuple(self._listeners.get(channel, ())):
            try:
                listener(payload)
            except Exception:
                log.exception("hub.failed", channel=channel.partition(":")[0])

    def has_listeners(self, channel: str) -> bool:
        return channel in self._listeners

    def add(self, channel: str, listener: Listener) -> None:
        """Pass the channel's payloads to `listener` until `remove` is called."""
        if channel not in self._listeners and self._link is not None:
            self._link.want(channel)
        self._listeners.setdefault(channel, set()).add(listener)

    def remove(self, channel: str, listener: Listener) -> None:
        listeners = self._listeners.get(channel, set())
        listeners.discard(listener)
        if listeners or self._listeners.pop(channel, None) is None:
            return
        if self._link is not None:
            self._link.leave(channel)

    def on_join(self, join: Join) -> None:
        """Call `join` with each channel on which others may have published before this process was subscribed."""
        self._on_join.append(join)

    @contextmanager
    def listen(self, channel: str, listener: Listener) -> Iterator[None]:
        """Pass payloads of the channel to `listener` while the context lasts."""
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
