"""A server whose social providers are all the fake, and a person with a browser between the two."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx
import pytest
import respx
from joserfc.jwk import ECKey

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock as FakeClock
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.settings import Settings as FakeSettings
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_server.settings import SocialAddress

if TYPE_CHECKING:
    from tests.server.conftest import MakeClient, ServerClient

MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
NOW = 1_800_000_030.0
ORIGIN = "https://shop.example"
BROWSERS, SERVERS = "https://idp.localhost:9443", "http://idp.internal:9911"
SOCIALS = AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS


class Form(HTMLParser):
    """What is submitted by who changes nothing in a page's form: its checked and hidden fields."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, list[str]] = {}
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = attributes["action"]
        elif tag == "input" and ("checked" in attributes or attributes["type"] == "hidden"):
            self.fields.setdefault(attributes["name"], []).append(attributes["value"])


class Person:
    """Somebody who logs in with a browser that keeps the fake's cookies, and stops wherever the test wants to look."""

    def __init__(self, server: ServerClient, browser: httpx.AsyncClient) -> None:
        self._server = server
        self._browser = browser

    async def ask(self, social: str, provider: str = "shop") -> httpx.Response:
        """Click the button: what the fake answers to the authorization request."""
        path = f"/v1/public/provider/{provider}/oauth/{social}"
        start = await self._server.get(path, params={"origin": ORIGIN, "nonce": "n-1"})
        assert start.status_code == 302, start.text
        return await self._browser.get(start.headers["location"])

    async def decide(
        self, page: httpx.Response, decision: str = "approve", changes: Mapping[str, list[str]] | None = None
    ) -> httpx.Response:
        """Submit the consent page, its fields as they are but for the changes: what the fake answers."""
        assert page.status_code == 200, page.text
        form = Form(page)
        fields = form.fields | {"decision": [decision]} | dict(changes or {})
        return await self._browser.post(urljoin(str(page.url), form.action), data=fields)

    async def arrive(self, answer: httpx.Response) -> httpx.Response:
        """Go where the fake sends the browser, by a redirect or a form that posts itself: the callback's page."""
        if "location" in answer.headers:
            return await self._server.get(answer.headers["location"])
        form = Form(answer)
        headers = {"Origin": BROWSERS, "Sec-Fetch-Site": "cross-site"}
        return await self._server.post(form.action, data=form.fields, headers=headers)

    async def log_in(self, social: str, provider: str = "shop", decision: str = "approve") -> httpx.Response:
        """Go all the way, over the consent page if there is one: the callback's page."""
        answer = await self.ask(social, provider)
        if 'name="decision"' in answer.text:
            answer = await self.decide(answer, decision)
        return await self.arrive(answer)

    def forget(self) -> None:
        """Drop the fake's cookies: it spares those it knows the consent page."""
        self._browser.cookies.clear()


@pytest.fixture(scope="session")
def running_fake(apple_key: ECKey) -> App:
    """A fake provider, with its lab, that knows the service's and the boutique's applications; keys take a while."""
    settings = FakeSettings(
        browser_url=BROWSERS,
        server_url=SERVERS,
        lab=True,
        clients=tuple(_client(social, keys, apple_key) for social in SOCIALS for keys in ("our", "boutique")),
    )
    return create_app(settings, FakeClock(lambda: NOW))


@pytest.fixture
def fake(running_fake: App) -> Iterator[App]:
    """The fake provider as it was at its start."""
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
    """A server that previews everything, is told where the fake is, and reaches it at its address for servers only."""
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
    """A person at the fake's address for browsers."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fake), base_url=BROWSERS) as browser:
        yield Person(client, browser)
