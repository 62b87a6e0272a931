"""Fixtures that run complete logins at a fake, with or without armed faults."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import cycle
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.oauth.faults.journey import Journey

from chatkey_oauth.engine.signing import make_key
from chatkey_oauth.faults.rules import Order, Rule, Scope

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

FLOW = re.compile(rb'name="flow" value="(f_[0-9a-f]{16})"')
MINE = "mine-0123456789abcdef"
THEIRS = "theirs-0123456789abcdef"
CALLBACK = "https://chat.example/callback"
SECOND_CALLBACK = "https://chat.example/second"


@pytest.fixture(scope="session")
def signing_keys() -> list[RSAPrivateKey]:
    return [make_key() for _ in range(3)]


@pytest.fixture
def fake(make_fake: Callable[..., App], signing_keys: list[RSAPrivateKey]) -> App:
    """A fake with its lab enabled. Its providers have different keys, and its applications have two redirect URIs."""
    app = make_fake(lab=True)
    keys = cycle(signing_keys)
    app.world = app.world._replace(make_key=lambda: next(keys))
    for client in app.world.clients.all():
        app.world.clients.add(msgspec.structs.replace(client, redirect_uris=(CALLBACK, SECOND_CALLBACK)))
    return app


def travel(
    visitor: Visitor, *, state: str | None = MINE, person: str = "rhea", misbehave: Iterable[str] = (), **changes: str
) -> Journey:
    """Log in through all steps. Stop at the first answer that does not lead to a next step."""
    asked = {"nonce": "n-0123456789abcdef", "state": state, **changes}
    page = visitor.ask(**asked)
    flow = FLOW.search(page.body)
    if flow is None:
        return Journey(state, page)
    ticked = "".join(f"&misbehave={name}" for name in misbehave)
    form = f"account={person}&decision=approve&flow={flow[1].decode()}{ticked}"
    request = visitor.request(**asked)
    back = visitor.post("/consent", form.encode(), "&".join(f"{name}={value}" for name, value in request.items()))
    journey = Journey(state, page, back)
    if back.status != 302 or "code" not in journey.callback:
        return journey
    token = visitor.redeem(journey.callback["code"])
    journey = Journey(state, page, back, token)
    if b'"access_token"' not in token.body or token.status != 200 or not readable(token):
        return journey
    return Journey(state, page, back, token, visitor.profile(journey.tokens.get("access_token") or ""))


def readable(answer: Answer) -> bool:
    """Return whether the body of an answer is complete JSON."""
    try:
        msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return False
    return True


@pytest.fixture(name="travel")
def _travel() -> Callable[..., Journey]:
    return travel


@pytest.fixture
def arm(fake: App) -> Callable[..., Rule]:
    """Return a function that arms a fault for the flow with the state `MINE`. Keyword arguments are its options."""

    def arm(fault: str, scope: Scope | None = None, times: int | None = 1, **options: Any) -> Rule:
        return fake.faults.arm(Order(fault=fault, scope=scope or Scope(state=MINE), times=times, with_=options))

    return arm
