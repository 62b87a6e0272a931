"""Fixtures: a server that uses the fake for every social provider, and a person whose browser visits both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import httpx
import pytest
import respx
from joserfc.jwk import ECKey
from tests.server.oauth.fake.person import BROWSERS, SERVERS, Person

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock as FakeClock
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.settings import Settings as FakeSettings
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_server.settings import SocialAddress

if TYPE_CHECKING:
    from tests.server.in_process import MakeClient, ServerClient

MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
NOW = 1_800_000_030.0
SOCIALS = AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS


@pytest.fixture(scope="session")
def running_fake(apple_key: ECKey) -> App:
    """A fake provider with its lab. The fake has the applications of the service and of the boutique.

    All tests share the fake, because it takes a while to generate the keys.
    """
    settings = FakeSettings(
        browser_url=BROWSERS,
        server_url=SERVERS,
        lab=True,
        clients=tuple(_client(social, keys, apple_key) for social in SOCIALS for keys in ("our", "boutique")),
    )
    return create_app(settings, FakeClock(lambda: NOW))


@pytest.fixture
def fake(running_fake: App) -> Iterator[App]:
    yield running_fake
    running_fake.reset()


def _client(social: str, keys: str, apple_key: ECKey) -> Client:
    redirect_uris = (f"http://localhost:8800/v1/public/oauth/{social}/callback",)
    client_id = f"{keys}-{social}-client"
    if social == "apple":
        return Client(
            provider=social,
            client_id=client_id,
            name=keys,
            redirect_uris=redirect_uris,
            team_id="TEAM123456",
            key_id="KEY1234567",
            public_key=apple_key.as_pem(private=False).decode(),
        )
    secret = f"{keys}-{social}-secret"
    return Client(provider=social, client_id=client_id, client_secret=secret, name=keys, redirect_uris=redirect_uris)


@pytest.fixture
async def client(make_client: MakeClient, fake: App) -> AsyncIterator[ServerClient]:
    """A server that previews every provider. It reaches the fake at the address that the fake has for servers."""
    socials = {
        social: SocialAddress(browser_url=f"{BROWSERS}/{social}", server_url=f"{SERVERS}/{social}")
        for social in SOCIALS
    }
    wire = httpx.ASGITransport(fake)
    with respx.mock(base_url=SERVERS, assert_all_called=False) as router:
        router.route().mock(side_effect=wire.handle_async_request)
        async with make_client(master_key=(MASTER_KEY,), socials=socials, preview_providers=ANNOUNCED_SOCIALS) as made:
            yield made


@pytest.fixture
async def person(client: ServerClient, fake: App) -> AsyncIterator[Person]:
    """A person whose browser uses the fake. The fake has one address for browsers and another for the server."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fake), base_url=BROWSERS) as browser:
        yield Person(client, browser)
