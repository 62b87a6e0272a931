"""The control API, and the log of what was received."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from chatkey_oauth.engine.grants import RING
from chatkey_oauth.lab.log import RING as LOG_RING
from chatkey_oauth.settings import Settings, SettingsError

if TYPE_CHECKING:
    from tests.oauth.conftest import Visitor

    from chatkey_oauth.app import App

ENTRY = {"provider", "method", "path", "query", "form", "headers", "authorization", "client_id", "status"}


@pytest.fixture
async def lab(fake: App) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the control API."""
    transport = httpx.ASGITransport(app=fake)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


def data(answer: httpx.Response) -> Any:
    """What a successful answer carries."""
    assert answer.is_success, answer.text
    assert set(answer.json()) == {"data"}
    return answer.json()["data"]


def error(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    body = answer.json()
    assert body["data"] is None
    assert body["error"]["message"]
    return answer.status_code, body["error"]["code"]


@pytest.mark.contract("D-14/lab")
async def test_without_the_lab_there_is_none(make_fake: Callable[..., App]) -> None:
    transport = httpx.ASGITransport(app=make_fake())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answers = [await client.get(path) for path in ("/lab", "/lab/clients", "/lab/schema/openapi.json")]

    assert [answer.status_code for answer in answers] == [404, 404, 404]


@pytest.mark.contract("D-14/lab")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "fake.example"])
def test_the_lab_needs_a_loopback_address(host: str) -> None:
    with pytest.raises(SettingsError, match="for this machine only"):
        Settings(host=host, lab=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "id.localhost"])
def test_a_loopback_address_may_have_a_lab(host: str) -> None:
    assert Settings(host=host, lab=True).lab


async def test_the_overview_says_where_everything_is(lab: httpx.AsyncClient) -> None:
    overview = data(await lab.get("/lab"))

    assert overview["providers"]["gitlab"] == {
        "browser_url": "https://id.example/gitlab",
        "server_url": "https://id.example/gitlab",
        "issuer": "https://id.example/gitlab",
    }
    assert (overview["clients"], overview["people"], overview["requests"]) == (10, 13, 0)


async def test_a_registered_client_can_log_in_until_it_is_forgotten(lab: httpx.AsyncClient, google: Visitor) -> None:
    client = {"provider": "google", "client_id": "new", "client_secret": "s", "redirect_uris": ["https://a.example/"]}

    made = await lab.post("/lab/clients", json=client)
    known = google.ask(client_id="new", redirect_uri="https://a.example/")
    listed = data(await lab.get("/lab/clients"))
    data(await lab.delete("/lab/clients/google/new"))
    forgotten = google.ask(client_id="new", redirect_uri="https://a.example/")

    assert made.status_code == 201
    assert (known.status, forgotten.status) == (200, 401)
    assert {"provider": "google", "client_id": "new", "redirect_uris": ["https://a.example/"]} in listed
    assert error(await lab.delete("/lab/clients/google/new")) == (404, "client_unknown")


async def test_no_answer_shows_a_secret(lab: httpx.AsyncClient) -> None:
    answers = [await lab.get("/lab/clients"), await lab.get("/lab/requests"), await lab.get("/lab")]

    assert not any("ours-secret" in answer.text for answer in answers)


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"provider": "myspace"}, 404, "provider_unknown"),
        ({"redirect_uris": []}, 400, "client_invalid"),
        ({"redirect_uris": ["/relative"]}, 400, "client_invalid"),
        ({"redirect_uris": ["https://a.example/#x"]}, 400, "client_invalid"),
        ({"redirect_uris": ["https://a.example/\r\n"]}, 400, "client_invalid"),
        ({"client_id": ""}, 400, "request_invalid"),
        ({"client_id": 5}, 400, "request_invalid"),
    ],
)
async def test_an_unusable_client_is_refused(
    lab: httpx.AsyncClient, change: dict[str, Any], status: int, code: str
) -> None:
    client = {"provider": "google", "client_id": "new", "redirect_uris": ["https://a.example/"]}

    answer = await lab.post("/lab/clients", json=client | change)

    assert error(answer) == (status, code)


async def test_a_person_is_added_changed_and_forgotten(lab: httpx.AsyncClient, google: Visitor) -> None:
    new = {"id": "new", "name": "New Person", "email": "old@example.com", "subjects": {"google": "42"}}

    data(await lab.put("/lab/people/new", json=new))
    token = google.login("new")["access_token"]
    before = google.profile(token).body
    data(await lab.put("/lab/people/new", json=new | {"email": "changed@example.com"}))
    after = google.profile(token).body
    data(await lab.delete("/lab/people/new"))

    assert b'"sub":"42"' in before
    assert b"old@example.com" in before
    assert b"changed@example.com" in after
    assert google.profile(token).status == 401
    assert error(await lab.delete("/lab/people/new")) == (404, "person_unknown")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"id": "other"}, "person_invalid"),
        ({"id": "UPPER"}, "request_invalid"),
        ({}, "request_invalid"),
        ({"id": "new", "subjects": {"github": "rhea"}}, "person_invalid"),
        ({"id": "new", "subjects": {"myspace": "1"}}, "person_invalid"),
    ],
)
async def test_an_unusable_person_is_refused(lab: httpx.AsyncClient, body: dict[str, Any], code: str) -> None:
    assert error(await lab.put("/lab/people/new", json=body)) == (400, code)


@pytest.mark.contract("D-13/clock")
async def test_the_clock_is_moved_and_read(lab: httpx.AsyncClient, google: Visitor) -> None:
    code = google.callback()["code"]
    before = data(await lab.get("/lab/clock"))["now"]

    after = data(await lab.post("/lab/clock", json={"advance": 600}))["now"]

    assert after == before + 600
    assert google.redeem(code).status == 400


@pytest.mark.parametrize(
    "body",
    [{}, [], {"advance": "soon"}, {"advance": 1, "back": 2}, {"advance": -1}, {"advance": 1e300}],
)
async def test_a_clock_that_is_told_nonsense_stands(lab: httpx.AsyncClient, body: Any) -> None:
    before = data(await lab.get("/lab/clock"))

    assert error(await lab.post("/lab/clock", json=body)) == (400, "request_invalid")
    assert data(await lab.get("/lab/clock")) == before


async def test_a_reset_returns_to_the_start(lab: httpx.AsyncClient, google: Visitor) -> None:
    token = google.login()["access_token"]
    keys = google.get("/oauth2/v3/certs").body
    await lab.post("/lab/clock", json={"advance": 60})
    await lab.put("/lab/people/new", json={"id": "new"})
    await lab.delete("/lab/clients/google/ours")

    data(await lab.post("/lab/reset"))

    overview = data(await lab.get("/lab"))
    assert (overview["now"], overview["clients"], overview["people"]) == (1_795_000_000, 10, 13)
    assert google.profile(token).status == 401
    assert google.get("/oauth2/v3/certs").body == keys


@pytest.mark.parametrize(
    ("method", "path", "refusal"),
    [("GET", "/lab/nothing", (404, "not_found")), ("DELETE", "/lab/clock", (405, "method_not_allowed"))],
)
async def test_the_lab_refuses_in_the_same_envelope(
    lab: httpx.AsyncClient, method: str, path: str, refusal: tuple[int, str]
) -> None:
    assert error(await lab.request(method, path)) == refusal


async def test_the_lab_is_described_by_openapi(lab: httpx.AsyncClient) -> None:
    document = (await lab.get("/lab/schema/openapi.json")).json()

    assert {"/lab", "/lab/clients", "/lab/people", "/lab/clock", "/lab/requests", "/lab/reset"} <= set(
        document["paths"]
    )


async def test_the_log_tells_whose_client_id_reached_the_provider_and_no_secret(
    lab: httpx.AsyncClient, gitlab: Visitor, github: Visitor
) -> None:
    token = gitlab.redeem(gitlab.callback()["code"], basic="Basic b3VyczpvdXJzLXNlY3JldA==", client_id=None)
    github.profile(github.login()["access_token"])

    page, found = await lab.get("/lab/requests"), data(await lab.get("/lab/requests", params={"provider": "gitlab"}))

    consent, exchange = found["requests"]
    assert {entry["client_id"] for entry in (consent, exchange)} == {"ours"}
    assert set(exchange) == ENTRY | {"number", "at"}
    assert (exchange["path"], exchange["status"]) == ("/oauth/token", 200)
    assert exchange["form"]["grant_type"] == "authorization_code"
    assert exchange["authorization"].startswith("Basic ours:[")
    secrets = ["ours-secret", "gho_", "st-1", token.body.decode().split('"')[3]]
    assert not [secret for secret in secrets if secret in page.text]


async def test_equal_secrets_look_equal_in_the_log(lab: httpx.AsyncClient, google: Visitor) -> None:
    code = google.callback()["code"]
    google.redeem(code)
    google.redeem(code)
    google.redeem(google.callback()["code"])

    found = data(await lab.get("/lab/requests", params={"path": "/token"}))["requests"]

    first, second, other = (entry["form"]["code"] for entry in found)
    assert first == second != other


async def test_the_log_is_filtered_and_read_on(lab: httpx.AsyncClient, google: Visitor, github: Visitor) -> None:
    google.ask()
    github.ask(client_id="theirs")
    last = data(await lab.get("/lab/requests"))["last"]
    google.ask()

    async def paths(**query: str | int) -> list[str]:
        return [entry["path"] for entry in data(await lab.get("/lab/requests", params=query))["requests"]]

    assert await paths(provider="github") == ["/login/oauth/authorize"]
    assert await paths(client_id="theirs") == ["/login/oauth/authorize"]
    assert await paths(path="/o/") == ["/o/oauth2/v2/auth"] * 2
    assert await paths(after=last) == ["/o/oauth2/v2/auth"]


async def test_a_test_can_wait_for_a_request(lab: httpx.AsyncClient, google: Visitor, github: Visitor) -> None:
    waiting = asyncio.create_task(lab.get("/lab/requests", params={"provider": "github", "wait": 10}))
    await asyncio.sleep(0)
    google.ask()
    await asyncio.sleep(0)
    github.ask()

    found = data(await waiting)["requests"]

    assert [entry["provider"] for entry in found] == ["github"]


async def test_waiting_ends_without_a_request(lab: httpx.AsyncClient) -> None:
    assert data(await lab.get("/lab/requests", params={"wait": 0.01}))["requests"] == []


@pytest.mark.parametrize("wait", ["-1", "31", "long"])
async def test_nobody_waits_for_ever(lab: httpx.AsyncClient, wait: str) -> None:
    assert error(await lab.get("/lab/requests", params={"wait": wait})) == (400, "request_invalid")


def test_odd_bytes_are_written_down_without_harm(fake: App, google: Visitor) -> None:
    google.ask(login_hint="\udcff\x00ü")

    assert fake.log is not None
    (entry,) = fake.log.find()
    assert entry.query["login_hint"] == "�\x00ü"


def test_codes_tokens_consents_and_log_stay_bounded(fake: App, discord: Visitor) -> None:
    grants = fake.provider("discord").grants
    for number in range(RING + 5):
        grants.consent("ours", str(number), ("identify",))
        discord.login(scope="identify")

    assert fake.log is not None
    assert len(fake.log.find()) == LOG_RING
    assert {len(grants.codes), len(grants.access), len(grants.refresh)} == {RING}
    assert grants.consented("ours", "0") is None
    assert grants.consented("ours", str(RING + 4)) == frozenset({"identify"})
