"""Fixtures: the service with data behind every route, and callers who may use the routes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.hostile.routes.asgi import Call, Headers, ask
from tests.hostile.routes.tables import Door
from tests.hostile.routes.walk import Headed

from chatkey_server import logs
from chatkey_server.storage import accounts, admin, agents
from chatkey_server.storage.providers import SERVICE, Application
from chatkey_server.storage.tables import Administrator

if TYPE_CHECKING:
    from tests.server.in_process import MakeClient, ServerClient

ORIGIN: Final = (b"origin", b"http://localhost:8800")
JSON: Final = (b"content-type", b"application/json")
FORM: Final = (b"content-type", b"application/x-www-form-urlencoded")
NAME, PASSWORD = "ada", "correct horse battery"
METRICS_TOKEN: Final = "a-token-for-the-metrics-012345"


@pytest.fixture
def failed() -> Iterator[list[str]]:
    found: list[str] = []

    def listen(event: Mapping[str, Any]) -> None:
        if event["level"] in {"error", "critical"} or "exception" in event:
            found.append(f"{event['event']}: {str(event.get('exception'))[-600:]}")

    with logs.listening(listen):
        yield found


@pytest.fixture
def has_lab() -> bool:
    """Whether the service's lab is enabled."""
    return True


@pytest.fixture
async def service(make_client: MakeClient, database_url: str, has_lab: bool) -> AsyncIterator[ServerClient]:
    async with make_client(database_url=database_url, lab=has_lab, metrics_token=METRICS_TOKEN) as client:
        now, vault = client.services.clock(), client.services.vault
        await admin.add_provider(vault, now=now, id="prov", name="Shop", domains=["shop.test"])
        await admin.set_application(vault, "prov", "google", Application("id", "secret"), now=now)
        await admin.set_application(vault, SERVICE, "google", Application("id", "secret"), now=now)
        await admin.set_social("prov", "google", key_source="own", now=now)
        await accounts.add(Administrator, NAME, PASSWORD)
        await agents.add_agent(NAME, PASSWORD)
        yield client


@pytest.fixture
def administrator(service: ServerClient) -> Headed:
    """Sign the administrator in again for each route, because requests to some routes end the session."""

    async def signed_in(_: Door) -> Headers:
        service.services.rates.reset()
        page = await _given(service, Call("GET", b"/admin/"))
        headers = (ORIGIN, (b"x-csrftoken", page.partition(b"csrftoken=")[2]))
        form = json.dumps({"username": NAME, "password": PASSWORD}).encode()
        sign_in = Call("POST", b"/admin/public/login/", (*headers, (b"cookie", page), JSON), form)
        return (*headers, (b"cookie", page + b"; " + await _given(service, sign_in)))

    return signed_in


@pytest.fixture
def agent(service: ServerClient) -> Headed:
    """Sign the agent in again for each route. Some of these routes accept other credentials, which are added."""

    async def signed_in(_: Door) -> Headers:
        service.services.rates.reset()
        form = f"username={NAME}&password={PASSWORD}".encode()
        cookie = await _given(service, Call("POST", b"/agent/sign-in", (ORIGIN, FORM), form))
        return (ORIGIN, (b"cookie", cookie), (b"authorization", b"Bearer " + METRICS_TOKEN.encode()))

    return signed_in


async def _given(service: ServerClient, call: Call) -> bytes:
    """Send a request, and return the cookies that the response sets."""
    answer = await ask(service.app, call)
    cookies = [value.partition(b";")[0] for name, value in answer.headers if name == b"set-cookie"]
    assert cookies, f"{call} was answered {answer.status}: {answer.body!r}"
    return b"; ".join(cookies)


@pytest.fixture
def forget_rates(service: ServerClient) -> Callable[[], None]:
    """Reset the rate limits, so that the server refuses no request because of them."""
    return service.services.rates.reset
