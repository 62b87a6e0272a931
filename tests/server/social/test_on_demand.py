"""Authlib and httpx are slow to import. The server must import them only for the first social login."""

from __future__ import annotations

import asyncio
import subprocess
import sys

from chatkey_server.settings import Settings
from chatkey_server.social.on_demand import OnDemand

PROBE = """
import sys
from chatkey_server.public import oauth_callback, oauth_start
print(sorted({"authlib", "httpx", "joserfc"} & set(sys.modules)))
"""


def test_the_callbacks_module_imports_neither_authlib_nor_httpx() -> None:
    told = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"


def test_importing_the_back_channel_prints_no_warnings() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import chatkey_server.social.flow"], capture_output=True, text=True, check=True
    )

    assert told.stderr == ""


async def test_all_logins_share_one_back_channel() -> None:
    on_demand = OnDemand(Settings(), lambda: 0.0)

    first, second = await asyncio.gather(on_demand.get(), on_demand.get())

    assert first is second
