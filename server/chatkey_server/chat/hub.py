"""Fan-out: who hears of a new message or call, in this process and, with Redis, in the others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from litestar.channels import ChannelsPlugin
from litestar.channels.backends.memory import MemoryChannelsBackend
from litestar.plugins import InitPlugin

from chatkey_server.settings import SettingsError

if TYPE_CHECKING:
    from litestar import Litestar
    from litestar.channels.backends.base import ChannelsBackend
    from litestar.config.app import AppConfig

Listener = Callable[[bytes], None]
"""Takes a payload at once, without waiting: it queues what it cannot pass on."""

_WIRE: Final = "chatkey"


class Hub(InitPlugin):
    """Publishes small payloads on named channels; give it to Litestar as a plugin.

    All channels travel on one channel of Litestar's plugin and are told apart here: a channel per person there would
    never be forgotten, and would make every leaving socket look at all others.
    """

    def __init__(self, redis_url: str = "") -> None:
        self._plugin = ChannelsPlugin(_backend(redis_url), channels=[_WIRE])
        self._listeners: dict[str, set[Listener]] = {}

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Start and stop with the app."""
        app_config.lifespan.append(self._lifespan)
        return app_config

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Carry payloads while the context lasts."""
        async with (
            self._plugin,
            self._plugin.start_subscription(_WIRE) as subscriber,
            subscriber.run_in_background(self._dispatch),
        ):
            yield

    def publish(self, channel: str, payload: bytes) -> None:
        """Send to every listener of the channel, without waiting."""
        self._plugin.publish(b"%b\n%b" % (channel.encode(), payload), _WIRE)

    def add(self, channel: str, listener: Listener) -> None:
        """Hand what is published on the channel to `listener`, until it is removed."""
        self._listeners.setdefault(channel, set()).add(listener)

    def remove(self, channel: str, listener: Listener) -> None:
        """Hand nothing more to `listener`."""
        listeners = self._listeners.get(channel, set())
        listeners.discard(listener)
        if not listeners:
            self._listeners.pop(channel, None)

    @contextmanager
    def listen(self, channel: str, listener: Listener) -> Iterator[None]:
        """Hand what is published on the channel to `listener` while the context lasts."""
        self.add(channel, listener)
        try:
            yield
        finally:
            self.remove(channel, listener)

    async def _dispatch(self, packed: bytes) -> None:
        channel, _, payload = packed.partition(b"\n")
        for listener in tuple(self._listeners.get(channel.decode(), ())):
            listener(payload)

    @asynccontextmanager
    async def _lifespan(self, _: Litestar) -> AsyncGenerator[None, None]:
        async with self.running():
            yield


def _backend(redis_url: str) -> ChannelsBackend:
    if not redis_url:
        return MemoryChannelsBackend()
    try:
        from chatkey_server.chat.redis_backend import steady_backend  # noqa: PLC0415 - redis is an optional package
    except ModuleNotFoundError as error:
        raise SettingsError("CHATKEY_REDIS_URL needs the redis package: pip install 'chatkey[redis]'") from error
    return steady_backend(redis_url)
