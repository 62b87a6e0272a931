"""Lets tests wait until two processes trust each other. Before that, processes read messages from the database."""

from __future__ import annotations

import asyncio

from chatkey_server.chat.redis_link import RedisLink
from chatkey_stack.patience import PATIENCE


async def met(one: RedisLink, other: RedisLink) -> None:
    """Wait until two links have proved to each other that they are live."""
    async with asyncio.timeout(PATIENCE):
        for link, peer in ((one, other), (other, one)):
            while not link._freshness.trusts(peer._seal.session):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.01)
