"""Fixtures for one social login, step by step. Between steps, a test may change what the browser sends."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
from tests.refusals.oauth.sign_in import MakeSignIn, Misbehave, SignIn

from chatkey_oauth.client import FaultNotHit, Scope
from chatkey_stack.applications import Application
from chatkey_stack.lab import SocialKeys
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_oauth.client import FakeOAuth, Rule

KEYS: Final = SocialKeys("own", Application("", "shop-client", "shop-client-secret"))


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    """A business with two social logins, shared by one module. Google sends an id_token, GitHub does not."""
    return service.shop(socials=dict.fromkeys(("google", "github"), KEYS))


@pytest.fixture(scope="session")
def at_provider(provider: FakeOAuth) -> Iterator[httpx.Client]:
    """A browser at the social provider. The provider approves every login for the person that the login hint names."""
    provider.auto_approve("rhea")
    with httpx.Client(trust_env=False, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def sign_in(service: Service, shop: Shop, at_provider: httpx.Client) -> MakeSignIn:
    """Start logins: `sign_in()`, `sign_in("github")`, `sign_in(shop=other, nonce="n")`."""

    def start(social: str = "google", *, shop: Shop = shop, **query: str) -> SignIn:
        return SignIn(service, at_provider, shop, social, query)

    return start


@pytest.fixture
def misbehave(provider: FakeOAuth) -> Iterator[Misbehave]:
    """Arm faults of the social provider. The test fails if an armed fault never occurs."""
    armed: list[Rule] = []

    def arm(fault: str, social: str, *, times: int | None = 1, **options: Any) -> Rule:
        armed.append(provider.arm(fault, Scope(provider=social), times=times, **options))
        return armed[-1]

    yield arm
    disarmed = [provider.disarm(rule.id) for rule in armed]
    for rule in disarmed:
        if not rule.hits:
            raise FaultNotHit(rule)


@pytest.fixture
def under_way(service: Service) -> Callable[[Shop], int]:
    """Count a business's unfinished logins in the database."""
    path = Path(service.environ["CHATKEY_DATA_DIR"]) / "chatkey.sqlite"

    def count(shop: Shop) -> int:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            found = database.execute("SELECT count(*) FROM oauth_flow WHERE provider = ?", (shop.id,)).fetchone()
        return int(found[0])

    return count
