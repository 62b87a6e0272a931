"""Measures thousands of widgets on one process: their cost while idle, and how they reconnect."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from benchmarks.hosts.crowd import Crowd, until
from benchmarks.hosts.deployment import Host, Machines
from benchmarks.hosts.faults import AGENTS, BEFORE_SECONDS, EVERY_SECONDS, apart, lost
from benchmarks.hosts.pages import Tab
from benchmarks.hosts.sizes import Size

BACK_WITHIN: Final = 60.0


async def stampede(machines: Machines, size: Size) -> dict[str, object]:
    """Break the connections of all widgets of one process. They reconnect while members and agents write."""
    async with machines.deployment(1) as deployment:
        cookie = await deployment.agents_cookie()
        hasty = Crowd(deployment, size.widgets, 0, cookie, tabs=1, tab=HastyTab)
        async with hasty, Crowd(deployment, size.members, AGENTS, cookie) as crowd:
            async with crowd.writing(EVERY_SECONDS):
                await asyncio.sleep(BEFORE_SECONDS)
                broken_at = time.monotonic()
                for tab in hasty.tabs:
                    tab.drop()
                is_back = await until(lambda: all(len(tab.opened) > 1 for tab in hasty.tabs), BACK_WITHIN)
            await crowd.settled(BACK_WITHIN)
            back = sorted(tab.opened[1] - broken_at for tab in hasty.tabs if len(tab.opened) > 1)
            return {
                "widgets": len(hasty.tabs),
                "refused": sum(tab.refused for tab in hasty.tabs),
                "all_back": is_back,
                "half_back_s": round(back[len(back) // 2], 1),
                "last_back_s": round(back[-1], 1),
                "acknowledged": crowd.acknowledged(),
                "lost": await lost(deployment, crowd),
                "unknown": crowd.missing(),
                "doubled": crowd.doubled(),
                "unacknowledged": crowd.unacknowledged(),
                "longest_wait_s": round(crowd.longest_wait(), 1),
            }


class HastyTab(Tab):
    """A tab that reconnects immediately, unlike our widget."""

    def wait(self, tries: int, code: int) -> float:  # noqa: ARG002 - the base class's signature
        """Return no wait before the first try, and one second before each later try."""
        return 0.0 if tries == 1 else 1.0


async def idle(machines: Machines, size: Size) -> dict[str, object]:
    """Measure how much memory an idle, authenticated socket needs."""
    async with machines.deployment(1) as deployment:
        (host,) = deployment.hosts
        cookie = await deployment.agents_cookie()
        # The first tabs warm up the server, and stay open, so that the others get no memory that was freed.
        async with Crowd(deployment, size.idle // 10, 0, cookie, tabs=1):
            before = host.memory()
            async with Crowd(deployment, size.idle, 0, cookie, tabs=1) as crowd:
                each = (host.memory() - before) / len(crowd.tabs)
                is_open = all(tab.ready.is_set() for tab in crowd.tabs)
    return {"sockets": size.idle, "all_open": is_open, "kib_each": round(each / 1024, 1)}


async def restart(machines: Machines, size: Size) -> dict[str, object]:
    """Restart the only process while all widgets are connected, and let the widgets reconnect."""
    return await _returns(machines, size, 1, _restarted)


async def killed(machines: Machines, size: Size) -> dict[str, object]:
    """Kill one of three processes to which all widgets are connected, and let the widgets reconnect to any host."""
    return await _returns(machines, size, 3, Host.killed)


@contextmanager
def _restarted(host: Host) -> Iterator[None]:
    host.end()
    yield
    host.begin()
    host.wait()


async def _returns(
    machines: Machines, size: Size, hosts: int, ended: Callable[[Host], AbstractContextManager[None]]
) -> dict[str, object]:
    async with machines.deployment(hosts) as deployment:
        cookie = await deployment.agents_cookie()
        async with Crowd(deployment, size.widgets, 0, cookie, tabs=1, at_first=True) as crowd:
            lost = crowd.tabs
            gone_at = time.monotonic()
            async with apart(ended(deployment.hosts[0])):
                pass
            down = time.monotonic() - gone_at
            is_back = await until(lambda: all(len(tab.opened) > 1 for tab in lost), BACK_WITHIN)
            closes = sum((tab.closes for tab in crowd.tabs), Counter[int]())
            back = sorted(tab.opened[1] - gone_at for tab in lost if len(tab.opened) > 1)
    return {
        "widgets": len(lost),
        "closes": {str(code): count for code, count in closes.items()},
        "refused": sum(tab.refused for tab in lost),
        "all_back": is_back,
        "process_back_s": round(down, 1),
        "half_back_s": round(back[len(back) // 2], 1),
        "last_back_s": round(back[-1], 1),
    }
