"""The server must check only a few passwords at the same time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from chatkey_server.identity.errors import RateLimited
from chatkey_server.storage import passwords
from chatkey_stack.patience import PATIENCE


async def test_running_and_waiting_checks_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    going_on, side_by_side, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def look(password: str, stored: str) -> bool:
        nonlocal side_by_side, most
        with lock:
            side_by_side += 1
            most = max(most, side_by_side)
        going_on.wait(PATIENCE)
        with lock:
            side_by_side -= 1
        return password == stored

    monkeypatch.setattr(passwords, "verify_password", look)
    monkeypatch.setattr(passwords, "WAITING", 3)
    looking = [asyncio.create_task(passwords.verified("right", "right")) for _ in range(5)]
    await asyncio.sleep(0)

    with pytest.raises(RateLimited, match="Too many sign-ins at once; try again in 1 s"):
        await passwords.verified("right", "right")

    going_on.set()
    assert await asyncio.gather(*looking) == [True] * 5
    assert most <= passwords.AT_ONCE
    assert await passwords.verified("wrong", "right") is False
