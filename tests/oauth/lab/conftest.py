"""A client of the control API, and functions that read its answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from chatkey_oauth.app import App


@pytest.fixture
async def lab(fake: App) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=fake)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def data() -> Callable[[httpx.Response], Any]:
    def read(answer: httpx.Response) -> Any:
        assert answer.is_success, answer.text
        assert set(answer.json()) == {"data"}
        return answer.json()["data"]

    return read


@pytest.fixture
def error() -> Callable[[httpx.Response], tuple[int, str, str]]:
    def read(answer: httpx.Response) -> tuple[int, str, str]:
        body = answer.json()
        assert body["data"] is None
        return answer.status_code, body["error"]["code"], body["error"]["message"]

    return read
