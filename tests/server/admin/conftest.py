"""Fixtures for tests of the admin panel in this process, with a signed-in administrator."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from chatkey_server import logs
from chatkey_server.identity import tokens
from chatkey_server.identity.tokens import Profile
from chatkey_server.storage import accounts, admin
from chatkey_server.storage.providers import SERVICE, Application
from chatkey_server.storage.tables import Administrator

BASE = "http://localhost:8800"
PASSWORD = "correct horse battery"
PROVIDER = "prov"
CLIENT_SECRET = "the-client-secret-of-google"
SERVICE_SECRET = "the-service-secret-of-google"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

Fixture = Any


class Panel:
    """A client that behaves like the panel's page. It sends the CSRF token from the cookie, and an Origin header."""

    def __init__(self, client: Fixture) -> None:
        self.client = client
        self.services = client.services

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> httpx.Response:
        token = self.client.cookies.get("csrftoken", "")
        if method != "GET":
            headers = {"Origin": BASE, "X-CSRFToken": token, **headers}
        answer = await self.client.request(method, f"/admin/{path}", json=body, headers=headers)
        assert isinstance(answer, httpx.Response)
        return answer

    async def open(self) -> None:
        await self.ask("GET", "")

    async def sign_in(self, password: str = PASSWORD, username: str = "ada") -> httpx.Response:
        return await self.ask("POST", "public/login/", {"username": username, "password": password})

    async def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table, ordered by id."""
        rows = (await self.ask("GET", f"api/tables/{table}/?__order=id")).json()["rows"]
        assert isinstance(rows, list)
        return rows


async def member_token(client: Fixture) -> str:
    """Make a token of the member `ann` with the provider's current secret."""
    provider = await client.services.providers.get(PROVIDER)
    now = client.services.clock()
    return tokens.mint_custom(
        provider.secrets, pid=PROVIDER, uid="ann", jkt=JKT, profile=Profile(), now=now, lifetime=7200
    )


async def uid_in(client: Fixture, token: str) -> str:
    """Verify a token as the socket does, and return the uid."""
    provider = await client.services.providers.get(PROVIDER)
    now = client.services.clock()
    return tokens.read_socket_token(token, provider.secrets, pid=PROVIDER, now=now).uid


@pytest.fixture
def heard() -> Iterator[list[dict[str, Any]]]:
    """The events that the test logs, as the log's processors return them."""
    events: list[dict[str, Any]] = []
    with logs.listening(lambda event: events.append(dict(event))):
        yield events


@pytest.fixture
def panel_of() -> Callable[[Fixture], Awaitable[Panel]]:
    """Sign ada in through the given client, and return the client's panel."""

    async def signed_in(client: Fixture) -> Panel:
        await accounts.add(Administrator, "ada", PASSWORD)
        panel = Panel(client)
        await panel.open()
        assert (await panel.sign_in()).status_code == 200
        return panel

    return signed_in


@pytest.fixture
def panel_database(sqlite_url: str) -> str:
    """The URL of the panel's database. A module that tests both kinds of database overrides this fixture."""
    return sqlite_url


@pytest.fixture
async def stranger(make_client: Fixture, panel_database: str) -> AsyncIterator[Panel]:
    """The panel with nobody signed in. The page is loaded, and `ada` is an administrator."""
    async with make_client(database_url=panel_database) as client:
        await accounts.add(Administrator, "ada", PASSWORD)
        panel = Panel(client)
        await panel.open()
        yield panel


@pytest.fixture
async def panel(stranger: Panel) -> Panel:
    """The panel with ada signed in.

    The stored provider uses its own keys for Google, and the service's keys for GitHub.
    """
    services = stranger.services
    now, vault = services.clock(), services.vault
    await admin.add_provider(vault, now=now, id=PROVIDER, name="Birch & Bone", domains=["shop.test"])
    await admin.set_application(vault, PROVIDER, "google", Application("google-id", CLIENT_SECRET), now=now)
    await admin.set_application(vault, SERVICE, "google", Application("service-id", SERVICE_SECRET), now=now)
    await admin.set_social(PROVIDER, "google", key_source="own", now=now)
    await admin.set_social(PROVIDER, "github", now=now)
    assert (await stranger.sign_in()).status_code == 200
    return stranger


@pytest.fixture(scope="session")
def p8() -> str:
    """A private key in the format in which Apple issues it."""
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
