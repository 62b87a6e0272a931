"""Tests of a provider whose connections break. The fake runs on a real network socket in these tests."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import httpx
import pytest

from chatkey_oauth.faults.rules import Order, Scope
from chatkey_protocol.names import ANNOUNCED_SOCIALS
from chatkey_server.settings import SocialAddress
from chatkey_serving.server import Server
from chatkey_serving.site import Site

if TYPE_CHECKING:
    from tests.server.in_process import MakeClient, ServerClient
    from tests.server.oauth.fake.person import Person

    from chatkey_oauth.app import App

MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
BROWSERS = "https://idp.localhost:9443"
SOCIALS = ("google", "apple", "github")

NobodyCameIn = Callable[..., Awaitable[None]]


@pytest.fixture
async def address(fake: App) -> AsyncIterator[str]:
    listening = socket.create_server(("127.0.0.1", 0))
    ready = asyncio.Event()
    server = Server(Site(app=fake, answers=fake.respond, has_lifespan=False), ready.set)
    serving = asyncio.create_task(server.serve([listening]))
    await ready.wait()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.stop()
    await serving
    listening.close()


@pytest.fixture
async def client(make_client: MakeClient, address: str) -> AsyncIterator[ServerClient]:
    socials = {
        social: SocialAddress(browser_url=f"{BROWSERS}/{social}", server_url=f"{address}/{social}")
        for social in SOCIALS
    }
    async with make_client(master_key=(MASTER_KEY,), socials=socials, preview_providers=ANNOUNCED_SOCIALS) as made:
        yield made


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize("fault", ["reset", "truncated"])
async def test_a_broken_connection_fails_the_login_and_the_next_one_succeeds(
    fake: App, person: Person, nobody_came_in: NobodyCameIn, fault: str
) -> None:
    broken: list[httpx.Response] = []
    for social, leg in [("google", "keys"), ("google", "profile"), ("apple", "token"), ("github", "token")]:
        rule = fake.faults.arm(Order(fault=fault, scope=Scope(provider=social), with_={"leg": leg}))

        broken.append(await person.log_in(social))

        assert rule.hits == 1, (social, leg)
        await nobody_came_in(broken[-1], "oauth_failed", "n-1")

    assert all("closed the connection early. Please try again." in page.text for page in broken)
    assert [(await person.log_in(social)).status_code for social in SOCIALS] == [200, 200, 200]
