"""Tests of the visitor token endpoint (contract 4.2, 2.6)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from chatkey_server.identity.tokens import Secrets, read_socket_token

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

PATH = "/v1/public/provider/shop/token"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
UID = f"v_{JKT}"
WRONG_QUERIES = [
    ("", "parameter_missing"),
    ("uid=", "parameter_missing"),
    (f"UID={UID}", "parameter_missing"),
    (f"uid[]={UID}", "parameter_missing"),
    (f"uid={UID}&uid={UID}", "parameter_repeated"),
    ("uid=42", "parameter_invalid"),
    (f"uid={JKT}", "parameter_invalid"),
    (f"uid={UID}=", "parameter_invalid"),
    (f"uid={UID[:-1]}", "parameter_invalid"),
    (f"uid={UID};uid={UID}", "parameter_invalid"),
    (f"uid={UID}%26auth%3Db", "parameter_invalid"),
    (f"uid={UID}%00", "parameter_invalid"),
    (f"uid=%20{UID}", "parameter_invalid"),
    ("uid=%ff%fe", "parameter_invalid"),
    (f"uid={UID}" + "&a=b" * 40, "parameter_invalid"),
    (f"uid={UID}&a={'b' * 20_000}", "parameter_invalid"),
]
SECRETS = Secrets(b"the-secret-key-of-the-shop-0123456789abcdef")


@pytest.mark.contract("4.2/visitor", "2.6/answer", "1/data", "D-02/no-store")
async def test_a_visitor_gets_a_socket_token_for_its_uid(client: ServerClient, shop: str) -> None:
    answer = await client.get(PATH, params={"uid": UID})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert set(answer.json()) == {"data"}
    data = answer.json()["data"]
    assert set(data) == {"socket_uri", "auth_token"}
    assert data["socket_uri"] == "ws://localhost:8800/v1/socket"
    identity = read_socket_token(data["auth_token"], SECRETS, pid=shop, now=client.services.clock())
    assert (identity.login, identity.uid, identity.jkt) == ("visitor", UID, JKT)


@pytest.mark.contract("D-03/parameter-400", "4.2/not-for-members")
async def test_a_uid_that_is_missing_repeated_or_not_derived_from_a_key_is_refused(
    client: ServerClient, shop: str
) -> None:
    for query, code in WRONG_QUERIES:
        answer = await client.get(f"{PATH}?{query}")

        assert (answer.status_code, answer.json()["data"], answer.json()["error"]["code"]) == (400, None, code), query
        assert ("uid" if len(query) < 150 else "query") in answer.json()["error"]["message"]
        assert answer.headers["cache-control"] == "no-store"


async def test_other_parameters_are_ignored_even_when_repeated(client: ServerClient, shop: str) -> None:
    answer = await client.get(f"{PATH}?a=1&uid={quote(UID)}&a=2&callback=alert")

    assert answer.status_code == 200


async def test_fifty_requests_at_once_for_one_uid_are_all_answered(client: ServerClient, shop: str) -> None:
    answers = await asyncio.gather(*(client.get(PATH, params={"uid": UID}) for _ in range(50)))

    assert {answer.status_code for answer in answers} == {200}


@pytest.mark.contract("2.6/visitor-time")
async def test_the_token_is_signed_with_the_key_of_the_current_minute(client: ServerClient, shop: str) -> None:
    async def token() -> str:
        text = (await client.get(PATH, params={"uid": UID})).json()["data"]["auth_token"]
        assert isinstance(text, str)
        return text

    first = await token()
    client.services.clock.advance(60)
    second = await token()

    assert first != second
    assert read_socket_token(first, SECRETS, pid=shop, now=client.services.clock()).uid == UID
