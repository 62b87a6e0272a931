"""Tests of the login start endpoint (contract 4.4, D-03, D-07, D-08)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from chatkey_server.identity import oauth_state
from chatkey_server.social import consent
from chatkey_server.storage import admin
from chatkey_server.storage.tables import OAuthFlow

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

ORIGIN = "https://shop.example"
PATH = "/v1/public/provider/shop/oauth/google"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


@pytest.mark.contract("4.4/redirect", "5.7/state", "4.5/provider-in-state")
async def test_the_state_is_signed_by_the_server_and_says_who_asked(client: ServerClient, start: Start) -> None:
    text = await start(jkt=JKT, nonce="widgets-nonce")

    state = oauth_state.read(text, client.services.vault.state_keys, social="github")
    assert (state.pid, state.social, state.origin) == ("shop", "github", ORIGIN)
    assert (state.nonce, state.jkt, state.iat) == ("widgets-nonce", JKT, int(client.services.clock()))


@pytest.mark.contract("D-07/pkce")
async def test_the_verifier_is_stored_under_the_id_of_the_state(client: ServerClient, shop: str) -> None:
    answers = [await client.get(PATH, params={"origin": ORIGIN}) for _ in range(2)]

    nonces = set()
    for answer in answers:
        sent = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}
        state = oauth_state.read(sent["state"], client.services.vault.state_keys, social="google")
        flow = await OAuthFlow.objects().get(OAuthFlow.id == state.id)
        assert flow is not None
        assert sent["code_challenge"] == consent.challenge(flow.verifier)
        assert sent["nonce"] == flow.oidc_nonce
        assert flow.verifier not in answer.headers["location"]
        nonces.add(flow.oidc_nonce)
    assert len(nonces) == 2


@pytest.mark.contract("D-03/start-pages", "D-03/parameter-400")
@pytest.mark.parametrize(
    ("provider", "query", "code"),
    [
        ("shop", "origin=%20%09", "parameter_missing"),
        ("shop", "origin[]=https://shop.example", "parameter_missing"),
        ("shop", "origin=https://shop.example%00", "origin_not_allowed"),
        ("shop", "origin=%20https://shop.example", "origin_not_allowed"),
        ("nobody", "origin=https://shop.example", "provider_unknown"),
    ],
)
async def test_without_a_registered_origin_nothing_is_posted(
    client: ServerClient, delivered: Delivered, provider: str, query: str, code: str
) -> None:
    answer = await client.get(f"/v1/public/provider/{provider}/oauth/google?{query}")

    assert code in answer.text
    assert delivered(answer) is None


@pytest.mark.contract("7/not-enabled-404", "4.4/enabled-only", "D-03/start-pages")
async def test_a_social_that_is_not_enabled_is_404_and_the_opener_gets_the_error(
    client: ServerClient, shop: str, delivered: Delivered
) -> None:
    """F178: a page with an old configuration may still offer a disabled login. The page must receive the error."""
    await admin.set_social("shop", "google", now=client.services.clock(), enabled=False)

    answer = await client.get(PATH, params={"origin": ORIGIN, "nonce": "n-1"})

    assert answer.status_code == 404
    assert delivered(answer) == {
        "origin": ORIGIN,
        "message": {
            "type": "wf:oauth",
            "providerId": "shop",
            "social": "google",
            "nonce": "n-1",
            "error": {"code": "social_disabled", "message": "This chat does not offer sign-in with Google."},
        },
    }
    assert await OAuthFlow.count() == 0


@pytest.mark.contract("D-03/parameter-400")
@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("jkt", ""),
        ("jkt", JKT + "A"),
        ("jkt", JKT[:-1] + "="),
        ("nonce", ""),
        ("nonce", "a b"),
        ("nonce", "x" * 65),
        ("nonce", "<script>"),
        ("prompt", "none"),
    ],
)
async def test_a_malformed_jkt_or_nonce_is_400_and_not_echoed(
    client: ServerClient, shop: str, delivered: Delivered, member: str, value: str
) -> None:
    answer = await client.get(PATH, params={"origin": ORIGIN, member: value})

    assert answer.status_code == 400
    delivery = delivered(answer)
    assert delivery is not None
    assert "nonce" not in delivery["message"]
    error = delivery["message"]["error"]
    assert error["code"] == "parameter_invalid"
    assert f"parameter {member} " in error["message"]
