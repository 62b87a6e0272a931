"""Tests of the login start endpoint (contract 4.4, D-03, D-07, D-08)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_server.identity import oauth_state
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import Limits
from chatkey_server.social import consent
from chatkey_server.storage import admin
from chatkey_server.storage.tables import OAuthFlow

if TYPE_CHECKING:
    from tests.server.in_process import MakeClient, ServerClient

ORIGIN = "https://shop.example"
PATH = "/v1/public/provider/shop/oauth/google"
MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


def sent_to(answer: httpx.Response) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}


@pytest.mark.contract("4.4/redirect", "4/paths")
@pytest.mark.parametrize("social", AVAILABLE_SOCIALS)
async def test_it_redirects_to_the_consent_page_of_the_social_provider(
    client: ServerClient, shop: str, social: str
) -> None:
    answer = await client.get(f"/v1/public/provider/shop/oauth/{social}", params={"origin": ORIGIN})

    assert answer.status_code == 302
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.content == b""
    sent = sent_to(answer)
    assert sent["response_type"] == "code"
    assert sent["redirect_uri"] == f"http://localhost:8800/v1/public/oauth/{social}/callback"
    assert sent["code_challenge_method"] == "S256"
    assert "secret" not in answer.headers["location"]


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys")
@pytest.mark.parametrize("social", AVAILABLE_SOCIALS)
async def test_the_key_source_decides_which_application_is_used(
    client: ServerClient, shop: str, boutique: str, social: str
) -> None:
    service_owned = await client.get(f"/v1/public/provider/shop/oauth/{social}", params={"origin": ORIGIN})
    own = await client.get(f"/v1/public/provider/boutique/oauth/{social}", params={"origin": ORIGIN})

    assert sent_to(service_owned)["client_id"] == f"our-{social}-client"
    assert sent_to(own)["client_id"] == f"boutique-{social}-client"


@pytest.mark.contract("4.4/redirect", "5.7/state", "4.5/provider-in-state")
async def test_the_state_is_signed_by_the_server_and_says_who_asked(client: ServerClient, start: Start) -> None:
    text = await start(jkt=JKT, nonce="widgets-nonce")

    state = oauth_state.read(text, client.services.vault.state_keys, social="github")
    assert (state.pid, state.social, state.origin) == ("shop", "github", ORIGIN)
    assert (state.nonce, state.jkt, state.iat) == ("widgets-nonce", JKT, int(client.services.clock()))


@pytest.mark.contract("D-05/state-key")
async def test_the_providers_secret_does_not_verify_the_state(client: ServerClient, start: Start) -> None:
    text = await start()
    provider = await client.services.providers.get("shop")

    with pytest.raises(Refused):
        oauth_state.read(text, [provider.secrets.current], social="github")


@pytest.mark.contract("D-07/pkce")
async def test_the_verifier_is_stored_under_the_id_of_the_state(client: ServerClient, shop: str) -> None:
    answer = await client.get(PATH, params={"origin": ORIGIN})

    sent = sent_to(answer)
    keys = client.services.vault.state_keys
    state = oauth_state.read(sent["state"], keys, social="google")
    flow = await OAuthFlow.objects().get(OAuthFlow.id == state.id)
    assert flow is not None
    assert sent["code_challenge"] == consent.challenge(flow.verifier)
    assert sent["nonce"] == flow.oidc_nonce
    assert flow.verifier not in answer.headers["location"]
    assert "set-cookie" not in answer.headers


async def test_no_two_starts_share_anything_random(client: ServerClient, shop: str) -> None:
    first, second = [sent_to(await client.get(PATH, params={"origin": ORIGIN})) for _ in range(2)]

    for name in ("state", "code_challenge", "nonce"):
        assert first[name] != second[name]


async def test_head_answers_like_get_but_leaves_no_record(client: ServerClient, shop: str) -> None:
    answer = await client.head(PATH, params={"origin": ORIGIN})

    assert (answer.status_code, answer.content) == (302, b"")
    assert await OAuthFlow.count() == 0
    await client.get(PATH, params={"origin": ORIGIN})
    assert await OAuthFlow.count() == 1


@pytest.mark.contract("4.5/one-callback")
@pytest.mark.parametrize("name", ["Host", "X-Forwarded-Host", "Forwarded"])
async def test_the_redirect_uri_is_the_configured_one_whatever_the_request_says(
    client: ServerClient, shop: str, name: str
) -> None:
    value = "host=evil.example" if name == "Forwarded" else "evil.example"

    answer = await client.get(PATH, params={"origin": ORIGIN}, headers={name: value})

    assert sent_to(answer)["redirect_uri"] == "http://localhost:8800/v1/public/oauth/google/callback"


@pytest.mark.contract("4.4/origin-checked", "2.1/domain")
@pytest.mark.parametrize("origin", [ORIGIN, "https://shop.example:8443"])
async def test_a_registered_origin_is_accepted(client: ServerClient, shop: str, origin: str) -> None:
    assert (await client.get(PATH, params={"origin": origin})).status_code == 302


@pytest.mark.contract("4.4/origin-checked", "D-03/start-pages", "D-08/exact")
@pytest.mark.parametrize(
    "origin",
    [
        "HTTPS://SHOP.EXAMPLE",
        "https://shop.example/",
        "https://shop.example:443",
        "https://shop.example:8444",
        "http://shop.example",
        "https://www.shop.example",
        "https://shop.example.evil.test",
        "https://evilshop.example",
        "https://shop.example@evil.test",
        "https://user:pw@shop.example",
        "https://evil.test\\@shop.example",
        "https://shop.example\\@evil.test",
        "https:shop.example",
        "shop.example",
        "//shop.example",
        "*",
        "/",
        "null",
        "javascript:alert(1)//https://shop.example",
        "blob:https://shop.example/x",
        "https://shop.example.",
        "https://shop.example\r\nX-Injected: 1",
        "https://shop.example\0",
        " https://shop.example",
        "https://\uff33\uff28\uff2f\uff30.example",
        "https://shop.example,https://evil.test",
        "wss://shop.example",
        "http://localhost",
    ],
)
async def test_any_other_origin_is_403_and_gets_no_message(
    client: ServerClient, shop: str, delivered: Delivered, origin: str
) -> None:
    answer = await client.get(PATH, params={"origin": origin})

    assert answer.status_code == 403
    assert "origin_not_allowed" in answer.text
    assert delivered(answer) is None
    assert "x-injected" not in answer.headers
    assert await OAuthFlow.count() == 0


@pytest.mark.contract("D-03/start-pages", "D-03/parameter-400")
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "parameter_missing"),
        ("origin=", "parameter_missing"),
        ("origin=%20%09", "parameter_missing"),
        ("ORIGIN=https://shop.example", "parameter_missing"),
        ("origin[]=https://shop.example", "parameter_missing"),
        ("origin=https://" + "x" * 10_000, "parameter_invalid"),
        ("origin=https://shop.example&origin=https://shop.example", "parameter_repeated"),
        ("origin=https://shop.example&jkt=a&jkt=a", "parameter_repeated"),
    ],
)
async def test_a_missing_long_or_repeated_parameter_is_400(
    client: ServerClient, shop: str, delivered: Delivered, query: str, code: str
) -> None:
    answer = await client.get(f"{PATH}?{query}")

    assert answer.status_code == 400
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


@pytest.mark.contract("D-03/social-unknown", "4.4/names")
@pytest.mark.parametrize("social", [*ANNOUNCED_SOCIALS, "myspace", "GOOGLE", "token"])
async def test_an_unknown_or_announced_social_is_404(
    client: ServerClient, shop: str, delivered: Delivered, social: str
) -> None:
    answer = await client.get(f"/v1/public/provider/shop/oauth/{social}", params={"origin": ORIGIN})

    assert answer.status_code == 404
    delivery = delivered(answer)
    assert delivery is not None
    assert delivery["message"]["error"]["code"] == "social_unknown"
    assert delivery["message"]["social"] == social


@pytest.mark.contract("D-03/start-pages")
@pytest.mark.parametrize("social", ["google", "myspace"])
async def test_the_origin_is_judged_before_the_social_provider(client: ServerClient, shop: str, social: str) -> None:
    answer = await client.get(f"/v1/public/provider/shop/oauth/{social}", params={"origin": "https://evil.example"})

    assert answer.status_code == 403


@pytest.mark.contract("D-03/provider-unknown")
@pytest.mark.parametrize("provider", ["nobody", "a" * 65, "-x"])
async def test_an_unknown_provider_is_404(client: ServerClient, delivered: Delivered, provider: str) -> None:
    answer = await client.get(f"/v1/public/provider/{provider}/oauth/google", params={"origin": ORIGIN})

    assert answer.status_code == 404
    assert "provider_unknown" in answer.text
    assert delivered(answer) is None


async def test_a_provider_that_is_switched_off_starts_nothing(client: ServerClient, shop: str) -> None:
    await admin.update_provider("shop", now=client.services.clock(), enabled=False)

    answer = await client.get(PATH, params={"origin": ORIGIN})

    assert answer.status_code == 403
    assert "provider_off" in answer.text


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


@pytest.mark.contract("D-03/methods")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
async def test_other_methods_are_405(client: ServerClient, shop: str, method: str) -> None:
    answer = await client.request(method, PATH, params={"origin": ORIGIN})

    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]


@pytest.mark.contract("D-03/rate-limit")
async def test_too_many_starts_of_one_client_are_429_with_a_time_to_come_back(make_client: MakeClient) -> None:
    async with make_client(master_key=(MASTER_KEY,), limits=Limits(oauth_rate=2)) as client:
        statuses = [(await client.get(PATH)).status_code for _ in range(3)]
        limited = await client.get(PATH)

    assert statuses == [400, 400, 429]
    assert int(limited.headers["retry-after"]) > 0
    assert "rate_limited" in limited.text
