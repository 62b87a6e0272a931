"""Tests of the log of received requests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.oauth.lab.answers import data
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.grants import RING
from chatkey_oauth.providers import NAMES
from chatkey_oauth.request_log import RING as LOG_RING

if TYPE_CHECKING:
    from chatkey_oauth.app import App

ENTRY = {"provider", "method", "path", "query", "form", "headers", "authorization", "client_id", "status"}
ENTRY |= {"number", "at", "flow", "leg"}


async def test_the_log_tells_whose_client_id_reached_the_provider_and_no_secret(
    lab: httpx.AsyncClient, gitlab: Visitor, github: Visitor
) -> None:
    token = gitlab.redeem(gitlab.callback()["code"], basic="Basic b3VyczpvdXJzLXNlY3JldA==", client_id=None)
    github.profile(github.access_token())

    page, found = await lab.get("/lab/requests"), data(await lab.get("/lab/requests", params={"provider": "gitlab"}))

    consent, exchange = found["requests"]
    assert {entry["client_id"] for entry in (consent, exchange)} == {"ours"}
    assert set(exchange) == ENTRY
    assert (exchange["path"], exchange["status"]) == ("/oauth/token", 200)
    assert exchange["form"]["grant_type"] == "authorization_code"
    assert exchange["authorization"].startswith("Basic ours:[")
    secrets = ["ours-secret", "gho_", "st-1", token.body.decode().split('"')[3]]
    assert not [secret for secret in secrets if secret in page.text]


@pytest.mark.parametrize("name", NAMES)
def test_only_secret_parameters_of_an_authorization_request_are_hidden(visitor: Visitor) -> None:
    visitor.ask(nonce="n-1", prompt="none", login_hint="rhea")

    (entry,) = visitor.fake.log.find()
    hidden = {member for member, value in entry.query.items() if value.startswith("[")}
    assert {"state", "nonce"} <= hidden <= {"state", "nonce", "code_challenge"}


async def test_a_client_key_counts_as_client_id(lab: httpx.AsyncClient, tiktok: Visitor) -> None:
    tiktok.ask()

    assert [entry["client_id"] for entry in data(await lab.get("/lab/requests"))["requests"]] == ["ours"]


async def test_equal_secrets_look_equal_in_the_log(lab: httpx.AsyncClient, google: Visitor) -> None:
    code = google.callback()["code"]
    google.redeem(code)
    google.redeem(code)
    google.redeem(google.callback()["code"])

    found = data(await lab.get("/lab/requests", params={"path": "/token"}))["requests"]

    first, second, other = (entry["form"]["code"] for entry in found)
    assert first == second != other


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        ({"provider": "github"}, ["/login/oauth/authorize"]),
        ({"client_id": "theirs"}, ["/login/oauth/authorize"]),
        ({"path": "/o/"}, ["/o/oauth2/v2/auth"]),
        ({"leg": "token"}, ["/token"]),
        ({"status": "400"}, ["/token"]),
        ({"method": "POST", "provider": "google"}, ["/consent", "/token"]),
        ({"leg": "consent", "status": "400"}, []),
    ],
)
async def test_the_log_is_filtered(
    *, lab: httpx.AsyncClient, google: Visitor, github: Visitor, filters: dict[str, str], paths: list[str]
) -> None:
    google.ask()
    google.redeem(google.callback()["code"], redirect_uri="https://elsewhere.example/")
    github.ask(client_id="theirs")

    found = data(await lab.get("/lab/requests", params=filters))["requests"]

    assert [entry["path"] for entry in found] == paths


async def test_the_log_can_be_read_from_a_given_entry(lab: httpx.AsyncClient, google: Visitor, github: Visitor) -> None:
    google.ask()
    last = data(await lab.get("/lab/requests"))["last"]
    github.ask()

    found = data(await lab.get("/lab/requests", params={"after": last}))["requests"]

    assert [entry["provider"] for entry in found] == ["github"]


async def test_the_requests_of_one_flow_are_told_from_its_neighbours(lab: httpx.AsyncClient, google: Visitor) -> None:
    google.profile(google.access_token())
    google.login()

    _, first = data(await lab.get("/lab/flows"))
    found = data(await lab.get("/lab/requests", params={"flow": first["id"]}))["requests"]

    assert [entry["leg"] for entry in found] == ["consent", "token", "profile"]


async def test_a_test_can_wait_for_a_request(lab: httpx.AsyncClient, google: Visitor, github: Visitor) -> None:
    waiting = asyncio.create_task(lab.get("/lab/requests", params={"provider": "github", "wait": 10}))
    await asyncio.sleep(0)
    google.ask()
    await asyncio.sleep(0)
    github.ask()

    found = data(await waiting)["requests"]

    assert [entry["provider"] for entry in found] == ["github"]


async def test_waiting_ends_at_the_timeout_without_a_request(lab: httpx.AsyncClient) -> None:
    assert data(await lab.get("/lab/requests", params={"wait": 0.01}))["requests"] == []


def test_odd_bytes_can_be_logged(fake: App, google: Visitor) -> None:
    google.ask(login_hint="\udcff\x00ü")

    (entry,) = fake.log.find()
    assert entry.query["login_hint"] == "�\x00ü"


def test_codes_tokens_consents_and_log_stay_bounded(fake: App, discord: Visitor) -> None:
    grants = fake.provider("discord").grants
    for _ in range(RING + 5):
        discord.login(scope="identify")

    assert len(fake.log.find()) == LOG_RING
    assert {len(grants.codes), len(grants.access), len(grants.refresh)} == {RING}
