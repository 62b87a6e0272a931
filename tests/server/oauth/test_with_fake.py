"""Whole logins through the fake provider: the server's requests, the provider's pages, the server's answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest
import respx

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock as FakeClock
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.settings import Settings as FakeSettings
from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_server.identity.tokens import IdentityToken, read_identity_token
from chatkey_server.settings import SocialAddress
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.conftest import MakeClient, ServerClient

    from chatkey_server.clock import Clock

MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
ORIGIN = "https://shop.example"
BROWSERS, SERVERS = "https://idp.example:9443", "http://idp.internal:9911"
HOLDERS = {"shop": "our", "boutique": "boutique"}

Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


class Form(HTMLParser):
    """What a person submits who changes nothing on a consent page: its checked and hidden fields."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.action = ""
        self.fields: list[tuple[str, str]] = []
        self.feed(page.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = attributes["action"]
        elif tag == "input" and ("checked" in attributes or attributes["type"] == "hidden"):
            self.fields.append((attributes["name"], attributes["value"]))


@pytest.fixture
def fake(clock: Clock) -> App:
    """A fake provider that knows the service's and the boutique's applications."""
    clients = tuple(
        Client(
            provider=social,
            client_id=f"{keys}-{social}-client",
            client_secret=f"{keys}-{social}-secret",
            name=keys,
            redirect_uris=(f"http://localhost:8800/v1/public/oauth/{social}/callback",),
        )
        for social in AVAILABLE_SOCIALS
        for keys in HOLDERS.values()
    )
    settings = FakeSettings(browser_url=BROWSERS, server_url=SERVERS, clients=clients)
    return create_app(settings, FakeClock(clock))


@pytest.fixture
async def client(make_client: MakeClient, fake: App) -> AsyncIterator[ServerClient]:
    """A server that is told where the fake is, and reaches it at its address for servers only."""
    socials = {
        social: SocialAddress(browser_url=f"{BROWSERS}/{social}", server_url=f"{SERVERS}/{social}")
        for social in AVAILABLE_SOCIALS
    }
    wire = httpx.ASGITransport(fake)
    with respx.mock(base_url=SERVERS, assert_all_called=False) as router:
        router.route().mock(side_effect=wire.handle_async_request)
        async with make_client(master_key=(MASTER_KEY,), socials=socials) as made:
            yield made


@pytest.fixture
async def browser(fake: App) -> AsyncIterator[httpx.AsyncClient]:
    """A person's browser at the fake's address for browsers; it stops at every redirect."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(fake), base_url=BROWSERS) as made:
        yield made


async def consent(
    client: ServerClient, browser: httpx.AsyncClient, provider: str, social: str, decision: str
) -> tuple[httpx.Response, httpx.Response]:
    """Start a login, decide on the consent page, and return that page and the callback's."""
    start = await client.get(
        f"/v1/public/provider/{provider}/oauth/{social}", params={"origin": ORIGIN, "nonce": "n-1"}
    )
    page = await browser.get(start.headers["location"])
    assert page.status_code == 200, page.text
    form = Form(page)
    sent = httpx.QueryParams([*form.fields, ("decision", decision)])
    decided = await browser.post(
        urljoin(str(page.url), form.action),
        content=str(sent),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert decided.status_code in {302, 303}, decided.text
    return page, await client.get(decided.headers["location"])


async def identity_in(client: ServerClient, delivery: dict[str, Any] | None, provider: str) -> IdentityToken:
    assert delivery is not None
    secrets = (await client.services.providers.get(provider)).secrets
    token = delivery["message"]["token"]
    return read_identity_token(token, secrets, pid=provider, now=client.services.clock())


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys", "4.5/steps")
@pytest.mark.parametrize("provider", HOLDERS)
@pytest.mark.parametrize("social", AVAILABLE_SOCIALS)
async def test_a_login_comes_to_its_end_with_the_keys_of_its_key_source(
    client: ServerClient, browser: httpx.AsyncClient, delivered: Delivered, provider: str, social: str
) -> None:
    page, answer = await consent(client, browser, provider, social, "approve")

    asked = parse_qs(urlsplit(str(page.url)).query)
    assert asked["client_id"] == [f"{HOLDERS[provider]}-{social}-client"]
    assert answer.status_code == 200, answer.text
    identity = await identity_in(client, delivered(answer), provider)
    (member,) = await ChatCustomer.objects()
    assert (member.provider, member.uid, member.auth_provider) == (provider, identity.uid, social)
    assert (member.name, member.email) == ("Rhea Quill", "rhea@example.com")


@pytest.mark.contract("2.7/same-record")
@pytest.mark.parametrize("social", AVAILABLE_SOCIALS)
async def test_the_same_person_comes_back_as_the_same_member(
    client: ServerClient, browser: httpx.AsyncClient, delivered: Delivered, social: str
) -> None:
    uids = set()
    for _ in range(2):
        browser.cookies.clear()  # the fake spares those it knows the consent page
        _, answer = await consent(client, browser, "shop", social, "approve")
        uids.add((await identity_in(client, delivered(answer), "shop")).uid)

    assert len(uids) == 1
    assert await ChatCustomer.count() == 1


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize("social", AVAILABLE_SOCIALS)
async def test_a_denied_consent_comes_back_as_denied(
    client: ServerClient, browser: httpx.AsyncClient, delivered: Delivered, social: str
) -> None:
    _, answer = await consent(client, browser, "shop", social, "deny")

    assert answer.status_code == 400
    delivery = delivered(answer)
    assert delivery is not None
    assert delivery["message"]["error"]["code"] == "oauth_denied"
    assert await ChatCustomer.count() == 0
