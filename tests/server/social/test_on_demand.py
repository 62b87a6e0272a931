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

LOGIN = """
import asyncio, sys
from contextlib import suppress
import anyio
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import Settings, SocialAddress
from chatkey_server.social import providers
from chatkey_server.social.grant import Grant
from chatkey_server.social.on_demand import OnDemand
from chatkey_server.storage.providers import Application

async def main():
    await anyio.sleep(0)  # as at the start of the server
    social = providers.find("google", Settings(socials={"google": SocialAddress(server_url="http://127.0.0.1:1")}))
    back_channel = await OnDemand(Settings(), lambda: 0.0).get()
    before = set(sys.modules)
    grant = Grant(redirect_uri="", code="code", verifier="verifier", oidc_nonce="nonce")
    with suppress(Refused):  # nothing listens at this address
        await back_channel.person(social, Application("id", "secret"), grant)
    print(sorted(sys.modules.keys() - before))

asyncio.run(main())
"""


def test_the_callbacks_module_imports_neither_authlib_nor_httpx() -> None:
    told = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "[]"


def test_a_login_imports_nothing_more_on_the_event_loop() -> None:
    told = subprocess.run([sys.executable, "-c", LOGIN], capture_output=True, text=True, check=True)

    assert told.stdout == "[]\n"


def test_importing_the_back_channel_prints_no_warnings() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import chatkey_server.social.flow"], capture_output=True, text=True, check=True
    )

    assert told.stderr == ""


async def test_all_logins_share_one_back_channel() -> None:
    on_demand = OnDemand(Settings(), lambda: 0.0)

    first, second = await asyncio.gather(on_demand.get(), on_demand.get())

    assert first is second
