"""Creates the back channel when the first login needs it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkey_server.clock import Now
    from chatkey_server.settings import Settings
    from chatkey_server.social.flow import BackChannel


class OnDemand:
    """Creates one `BackChannel` for the whole server, in a thread, because importing Authlib takes half a second."""

    def __init__(self, settings: Settings, now: Now) -> None:
        self._ca_file = settings.ca_file
        self._now = now
        self._made: BackChannel | None = None
        self._making = asyncio.Lock()

    async def get(self) -> BackChannel:
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        return self._made

    def _make(self) -> BackChannel:
        from chatkey_server.social import flow, transport  # noqa: PLC0415 - see above

        trusted = transport.trust(self._ca_file)
        transport.BoundedTransport(verify=trusted)  # httpx imports the rest of itself with its first transport
        return flow.BackChannel(self._now, trusted=trusted)
