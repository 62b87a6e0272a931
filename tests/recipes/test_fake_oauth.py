"""Runs the recipes for the fake provider exactly as the page prints them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from authlib.deprecate import AuthlibDeprecationWarning  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.jwk import KeySet
from tests.recipes.conftest import blocks

from chatkey_oauth.client import FakeOAuth
from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

pytest_plugins = ["pytester"]

HERE = "http://localhost:8080/login/oauth2/code/fake"


async def test_authlib_with_fastapi_logs_in(fake: FakeOAuth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE", f"{fake.url}/google")
    names: dict[str, Any] = {"__name__": "recipe"}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuthlibDeprecationWarning)  # it recommends httpx2, but httpx is pinned
        exec(compile(blocks("Authlib with FastAPI")[-1], "recipe", "exec"), names)
        application = httpx.ASGITransport(app=names["app"])
        async with (
            httpx.AsyncClient(transport=application, base_url="http://localhost:8000") as browser,
            httpx.AsyncClient(timeout=PATIENCE) as elsewhere,
        ):
            there = (await browser.get("/login")).headers["location"]
            back = (await elsewhere.get(there)).headers["location"]
            told = (await browser.get(back)).json()

    assert told == {"name": "Rhea Quill", "email": "rhea@example.com"}
    assert fake.flows()[0].steps[-1].verdicts["pkce"].mark == "good"


@pytest.fixture
def spring() -> Callable[[str], str]:
    """Return a function that looks up a Spring property by the end of the property's name."""
    lines = dict(line.split("=", 1) for line in blocks("Any client of OpenID Connect")[-1].splitlines())
    return lambda ending: next(value for name, value in lines.items() if name.endswith(f".{ending}"))


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=PATIENCE) as one:
        yield one


def test_a_client_that_only_knows_the_issuer_logs_in_like_spring(
    fake: FakeOAuth, spring: Callable[[str], str], client: httpx.Client
) -> None:
    issuer = spring("issuer-uri").replace("http://127.0.0.1:9911", fake.url)
    keys = (spring("client-id"), spring("client-secret"))
    found = client.get(f"{issuer}/.well-known/openid-configuration").json()
    asked = {"client_id": keys[0], "redirect_uri": HERE, "response_type": "code", "state": "s=1", "nonce": "n-1"}
    asked["scope"] = spring("scope").replace(",", " ")

    back = client.get(found["authorization_endpoint"], params=asked).headers["location"]
    came = {name: value[0] for name, value in parse_qs(urlsplit(back).query).items()}
    form = {"grant_type": "authorization_code", "code": came["code"], "redirect_uri": HERE}
    token = client.post(found["token_endpoint"], data=form, auth=keys).json()
    published = KeySet.import_key_set(client.get(found["jwks_uri"]).json())
    claims = jwt.decode(token["id_token"], published, algorithms=["RS256"]).claims

    assert found["issuer"] == claims["iss"] == came["iss"] == issuer
    assert (came["state"], claims["nonce"], claims["aud"]) == ("s=1", "n-1", keys[0])
    bearer = {"authorization": f"Bearer {token['access_token']}"}
    assert client.get(found["userinfo_endpoint"], headers=bearer).json()["sub"] == claims["sub"]


def test_the_test_with_pytest_passes(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(blocks("A test with pytest")[-1])

    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)
