"""Fixtures: two businesses with social login. `shop` uses the service's applications, `boutique` has its own.

Both businesses have keys for announced providers too, but people can use these only on a server with previews.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import respx
from joserfc.jwk import ECKey

from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_server.identity.tokens import IdentityToken, read_identity_token
from chatkey_server.storage import admin, engine
from chatkey_server.storage.providers import Application
from chatkey_server.storage.tables import ChatCustomer
from chatkey_server.storage.vault import Vault

if TYPE_CHECKING:
    from tests.server.in_process import MakeClient, ServerClient

ORIGIN = "https://shop.example"
MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
SECRET = "the-secret-key-of-the-shop-0123456789abcdef"
GITHUB_TOKEN = {"access_token": "gho_A1", "token_type": "bearer", "scope": "read:user"}
GITHUB_USER = {"id": 5830217, "login": "rquill", "name": "Rhea Quill", "avatar_url": "https://avatars.example/u/1"}
GITHUB_EMAILS = [{"email": "rhea@example.com", "primary": True, "verified": True}]

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]
IdentityIn = Callable[..., Awaitable[IdentityToken]]
NobodyCameIn = Callable[..., Awaitable[None]]


@pytest.fixture(scope="session")
def apple_key() -> ECKey:
    """The key with which both businesses sign their client secrets for Apple."""
    return ECKey.generate_key("P-256")


@pytest.fixture(scope="session")
def sqlite_template(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, apple_key: ECKey) -> Path:
    """The migrated database with both businesses. It is made only once, because this takes some fifty transactions."""
    path = tmp_path_factory.mktemp("oauth") / "template.sqlite"
    shutil.copyfile(sqlite_template, path)
    asyncio.run(_settle(f"sqlite:///{path}", apple_key.as_pem(private=True).decode()))
    return path


@pytest.fixture
async def client(make_client: MakeClient) -> AsyncIterator[ServerClient]:
    """A client of a server whose master key can decrypt the businesses' secrets."""
    async with make_client(master_key=(MASTER_KEY,)) as made:
        yield made


@pytest.fixture
def shop() -> str:
    """The id of a provider. All of its social logins use the service's applications."""
    return "shop"


@pytest.fixture
def boutique() -> str:
    """The id of a provider. All of its social logins use the business's own applications."""
    return "boutique"


async def _settle(database: str, p8: str) -> None:
    vault, now = Vault([MASTER_KEY]), 0.0
    async with engine.opened(database):
        await admin.add_provider(
            vault, now=now, id="shop", secret_key=SECRET, domains=["shop.example", "shop.example:8443"]
        )
        await admin.add_provider(vault, now=now, id="boutique", secret_key=SECRET[::-1], domains=["shop.example"])
        every = AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS
        for social in every:
            for holder, keys in (("service", "our"), ("boutique", "boutique")):
                application = Application(f"{keys}-{social}-client", f"{keys}-{social}-secret")
                if social == "apple":
                    application = Application(f"{keys}-apple-client", None, "TEAM123456", "KEY1234567", p8)
                await admin.set_application(vault, holder, social, application, now=now)
            await admin.set_social("shop", social, now=now, offered=every)
            await admin.set_social("boutique", social, now=now, key_source="own", offered=every)


@pytest.fixture
def start(client: ServerClient, shop: str) -> Start:
    """Start a login, by default at `shop` with github. Returns the `state` that the social provider receives."""

    async def begin(social: str = "github", *, provider: str = shop, **query: str) -> str:
        answer = await client.get(f"/v1/public/provider/{provider}/oauth/{social}", params={"origin": ORIGIN} | query)
        assert answer.status_code == 302, answer.text
        return parse_qs(urlsplit(answer.headers["location"]).query)["state"][0]

    return begin


@pytest.fixture
def github() -> Iterator[respx.MockRouter]:
    """Mocked GitHub endpoints for a login by Rhea. The routes are named `token`, `profile` and `emails`."""
    with respx.mock(assert_all_called=False) as router:
        router.post("https://github.com/login/oauth/access_token", name="token").respond(json=GITHUB_TOKEN)
        router.get("https://api.github.com/user", name="profile").respond(json=GITHUB_USER)
        router.get("https://api.github.com/user/emails", name="emails").respond(json=GITHUB_EMAILS)
        yield router


@pytest.fixture
def delivered() -> Delivered:
    """Return the `origin` and `message` that the script of a page posts to the opener, or None if it posts nothing."""

    def read(page: httpx.Response) -> dict[str, Any] | None:
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        found = re.search(r"const delivery = (.*);\n", page.text)
        if found is None:
            assert "postMessage" not in page.text
            return None
        delivery: Mapping[str, Any] = json.loads(found[1])
        return dict(delivery)

    return read


@pytest.fixture
def identity_in(client: ServerClient, delivered: Delivered) -> IdentityIn:
    """Read the identity token that a page posts to the opener. The rules are those of the member token endpoint."""

    async def read(page: httpx.Response, pid: str = "shop") -> IdentityToken:
        assert page.status_code == 200, page.text
        delivery = delivered(page)
        assert delivery is not None
        secrets = (await client.services.providers.get(pid)).secrets
        return read_identity_token(delivery["message"]["token"], secrets, pid=pid, now=client.services.clock())

    return read


@pytest.fixture
def nobody_came_in(delivered: Delivered) -> NobodyCameIn:
    """Assert that a page posts only this code to the opener, and that no member was created."""

    async def check(page: httpx.Response, code: str, nonce: str | None = None) -> None:
        delivery = delivered(page)
        assert delivery is not None
        assert delivery["origin"] == ORIGIN
        message = delivery["message"]
        assert message["error"]["code"] == code
        assert message["error"]["message"]
        assert message.get("nonce") == nonce
        assert "token" not in message
        assert await ChatCustomer.count() == 0

    return check
