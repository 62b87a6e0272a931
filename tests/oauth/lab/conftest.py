"""A client of the control API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from chatkey_oauth.app import App


@pytest.fixture
async def lab(fake: App) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=fake)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client
