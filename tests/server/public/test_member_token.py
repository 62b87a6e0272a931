"""Tests of the member token endpoint (contract 4.3, 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jwt
import pytest

from chatkey_server.identity.tokens import Profile, Secrets, mint_custom, mint_visitor
from chatkey_server.storage import admin

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.in_process import ServerClient

PATH = "/v1/public/provider/shop/member/token"
SECRET = "the-secret-key-of-the-shop-0123456789abcdef"
OTHER_JKT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"


def claims_of(token: str) -> dict[str, object]:
    return jwt.decode(token, options={"verify_signature": False})


@pytest.mark.contract(
    "4.3/exchange", "4.3/binding", "2.6/answer", "2.6/member-token", "5.4/social-exchange", "D-02/no-store"
)
async def test_an_identity_token_is_exchanged_for_a_socket_token_bound_to_the_key(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str]
) -> None:
    answer = await client.get(PATH, params={"auth": make_identity_token(), "jkt": jkt})

    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert set(answer.json()["data"]) == {"socket_uri", "auth_token"}
    claims = claims_of(answer.json()["data"]["auth_token"])
    assert claims["cnf"] == {"jkt": jkt}
    assert (claims["pid"], claims["uid"], claims["type"]) == (shop, "google:42", "user")
    assert (claims["name"], claims["email"]) == ("Ada Lovelace", "ada@example.com")
    assert claims["data"] == {"auth_provider": "google", "avatar": "https://people.example/ada.png"}


@pytest.mark.contract("7/missing-400")
@pytest.mark.parametrize("missing", ["auth", "jkt"])
async def test_a_missing_auth_or_jkt_is_400_and_named(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str], missing: str
) -> None:
    params = {"auth": make_identity_token(), "jkt": jkt}
    empty = params | {missing: ""}
    del params[missing]

    for wrong in (params, empty):
        answer = await client.get(PATH, params=wrong)

        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (400, "parameter_missing")
        assert f"The parameter {missing} is missing" in error["message"]


@pytest.mark.contract("D-03/parameter-400")
async def test_a_jkt_that_is_no_thumbprint_is_400(
    client: ServerClient, shop: str, make_identity_token: Callable[..., str]
) -> None:
    for wrong in ("a", "A" * 44, "A" * 42 + "B", "A" * 42 + "=", "A" * 42 + "+"):
        answer = await client.get(PATH, params={"auth": make_identity_token(), "jkt": wrong})

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_invalid")
        assert "jkt" in answer.json()["error"]["message"]


@pytest.mark.contract("D-03/parameter-400")
@pytest.mark.parametrize("repeated", ["auth", "jkt"])
async def test_a_repeated_parameter_is_400(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str], repeated: str
) -> None:
    query = f"auth={make_identity_token()}&jkt={jkt}"

    answer = await client.get(f"{PATH}?{query}&{repeated}=x")

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_repeated")
    assert repeated in answer.json()["error"]["message"]


@pytest.mark.contract("7/auth-401", "4.3/verifies")
async def test_an_expired_identity_token_is_401(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str]
) -> None:
    auth = make_identity_token()
    client.services.clock.advance(24 * 3600)

    answer = await client.get(PATH, params={"auth": auth, "jkt": jkt})

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_expired")
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.contract("7/auth-401", "4.3/verifies")
async def test_a_foreign_token_or_one_for_another_purpose_is_401(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str]
) -> None:
    now, secrets = client.services.clock(), Secrets(SECRET.encode())
    wrong = {
        "x": "token_malformed",
        "x" * 9000: "token_too_large",
        make_identity_token(secret="another-secret-key-0123456789abcdef"): "token_signature",
        make_identity_token(pid="other"): "token_provider",
        mint_custom(secrets, pid=shop, uid="1", jkt=jkt, profile=Profile(), now=now): "token_type",
        mint_visitor(secrets, pid=shop, uid=f"v_{jkt}", now=now): "token_signature",
    }

    for auth, code in wrong.items():
        answer = await client.get(PATH, params={"auth": auth, "jkt": jkt})

        assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)
        assert auth not in answer.text or len(auth) == 1


@pytest.mark.contract("D-07/bound-identity")
async def test_an_identity_token_bound_to_another_key_is_401(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str]
) -> None:
    answer = await client.get(PATH, params={"auth": make_identity_token(jkt=OTHER_JKT), "jkt": jkt})

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_key_mismatch")


@pytest.mark.contract("D-07/bound-identity")
async def test_an_identity_token_bound_to_no_key_is_exchanged_for_any(
    client: ServerClient, shop: str, make_identity_token: Callable[..., str]
) -> None:
    answer = await client.get(PATH, params={"auth": make_identity_token(jkt=None), "jkt": OTHER_JKT})

    assert claims_of(answer.json()["data"]["auth_token"])["cnf"] == {"jkt": OTHER_JKT}


async def test_a_login_that_has_been_switched_off_is_401_within_60_seconds(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str]
) -> None:
    params = {"auth": make_identity_token("github"), "jkt": jkt}
    before = await client.get(PATH, params=params)
    await admin.set_social(shop, "github", now=client.services.clock(), enabled=False)
    client.services.clock.advance(60)

    answer = await client.get(PATH, params=params)

    assert before.status_code == 200
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "token_revoked")
    assert "github" in answer.json()["error"]["message"]


async def test_tokens_of_the_previous_secret_are_valid_during_the_overlap(
    client: ServerClient, shop: str, jkt: str, make_identity_token: Callable[..., str]
) -> None:
    params = {"auth": make_identity_token(), "jkt": jkt}
    await admin.rotate_secret(client.services.vault, shop, now=client.services.clock(), overlap_seconds=3600)

    overlapping = await client.get(PATH, params=params)
    client.services.clock.advance(3601)
    after = await client.get(PATH, params=params)

    assert overlapping.status_code == 200
    assert (after.status_code, after.json()["error"]["code"]) == (401, "token_signature")
