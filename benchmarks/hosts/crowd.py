"""The users of a deployment: members with tabs on different hosts, and agents. All of them write all the time."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Self

from benchmarks.hosts.deployment import Deployment
from benchmarks.hosts.pages import Ledger, Page, Panel, Tab

from chatkey_peer.key import BrowserKey
from chatkey_stack.patience import PATIENCE

LOOK_SECONDS: Final = 0.05
OPENED_PER_SECOND: Final = 100
"""Pages opened per second at the start, so that the pages do not all connect at once."""


class Crowd:
    """All members and agents, and the messages that they wrote. Their pages are open inside `async with`.

    A member's tabs are spread over the hosts. With `at_first`, all tabs start at the first host. `through` contains
    addresses of proxies, to which the pages connect in place of the hosts.
    """

    def __init__(
        self,
        deployment: Deployment,
        members: int,
        agents: int,
        cookie: str,
        *,
        tabs: int = 2,
        at_first: bool = False,
        tab: type[Tab] = Tab,
        through: Sequence[str] = (),
    ) -> None:
        hosts = list(through) or [host.address for host in deployment.hosts]
        self.ledger = Ledger()
        self.tabs: list[Tab] = []
        for number in range(members):
            key = BrowserKey()
            places = [0 if at_first else number + more for more in range(tabs)]
            self.tabs += [tab(f"{self.ledger.mark}-{number}", key, hosts, place, self.ledger) for place in places]
        self.writers = self.tabs[::tabs]
        self.panels = [Panel(cookie, hosts, number, self.ledger) for number in range(agents)]
        self._living: list[asyncio.Task[None]] = []

    @property
    def listeners(self) -> Sequence[Tab]:
        """The tabs in which members only read. Each member writes in another tab, which uses another host."""
        return [tab for tab in self.tabs if tab not in self.writers]

    @property
    def pages(self) -> Sequence[Page]:
        """All tabs and panels."""
        return [*self.tabs, *self.panels]

    async def __aenter__(self) -> Self:
        self._living = [
            asyncio.create_task(page.live(number / OPENED_PER_SECOND)) for number, page in enumerate(self.pages)
        ]
        if not await until(lambda: all(page.ready.is_set() for page in self.pages), 4 * PATIENCE):
            troubles = {page.trouble for page in self.pages if not page.ready.is_set()}
            raise TimeoutError(f"not every page could connect: {', '.join(sorted(troubles))}")
        return self

    async def __aexit__(self, *_: object) -> None:
        for living in self._living:
            living.cancel()
        await asyncio.gather(*self._living, return_exceptions=True)

    @asynccontextmanager
    async def writing(self, every: float) -> AsyncIterator[None]:
        """Let each member and agent write a message every `every` seconds."""
        pages: list[Tab | Panel] = [*self.writers, *self.panels]
        tasks = [asyncio.create_task(_write(page, every)) for page in pages]
        yield
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def missing(self) -> int:
        """Return how many acknowledged messages are not shown on a page that should show them."""
        own = sum(len(tab.missing(tab.uid)) for tab in self.tabs)
        return own + sum(len(panel.missing(uid)) for panel in self.panels for uid in tuple(self.ledger.acked))

    def doubled(self) -> int:
        """Return how many messages are shown twice on one page."""
        own = sum(tab.doubled(tab.uid) for tab in self.tabs)
        return own + sum(panel.doubled(uid) for panel in self.panels for uid in tuple(self.ledger.acked))

    async def settled(self, within: float) -> None:
        """Wait until all sent messages are acknowledged and shown, at most `within` seconds."""
        await until(lambda: not any(page.is_waiting for page in self.pages) and not self.missing(), within)

    def unacknowledged(self) -> int:
        return len(self.ledger.sent) - sum(map(len, self.ledger.acked.values()))

    def longest_wait(self) -> float:
        """Return the longest time in seconds from sending a message until a page showed it."""
        sent = self.ledger.sent
        return max(
            (at - sent[message_id][0] for page in self.pages for message_id, at in page.shown_at.items()), default=0.0
        )

    def acknowledged(self) -> int:
        return sum(map(len, self.ledger.acked.values()))


async def until(holds: Callable[[], object], within: float) -> bool:
    """Wait until `holds` is true. Returns False after `within` seconds."""
    deadline = time.monotonic() + within
    while not holds():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True


async def _write(page: Tab | Panel, every: float) -> None:
    await asyncio.sleep(every * random.random())
    while True:
        await page.write()
        await asyncio.sleep(every)
