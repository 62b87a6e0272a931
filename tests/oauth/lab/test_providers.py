"""Tests of what the lab can change at a provider: keys, switches, and the person who is logged in without a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from tests.oauth.lab.answers import data
from tests.oauth.visitor import Visitor, content, parameters

from chatkey_oauth.engine.signing import make_key
from chatkey_oauth.providers import NAMES
from chatkey_oauth.providers.apple_secret import public_key
from chatkey_oauth.ready_made import READY_MADE

if TYPE_CHECKING:
    from chatkey_oauth.app import App

PRIVATE = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"}


async def test_keys_rotate_both_stay_published_and_no_private_half_is(
    lab: httpx.AsyncClient, fake: App, google: Visitor
) -> None:
    fake.world = fake.world._replace(make_key=make_key)

    rotated = data(await lab.post("/lab/providers/google/keys"))

    published = content(google.get("/oauth2/v3/certs"))["keys"]
    assert rotated["keys"] == published
    assert [key["kid"] == rotated["kid"] for key in published] == [True, *[False] * (len(published) - 1)]
    assert len({key["kid"] for key in published}) >= 2
    assert not [key for key in published if PRIVATE & key.keys()]


async def test_a_switch_is_set_and_acts(lab: httpx.AsyncClient, google: Visitor) -> None:
    before = google.callback()

    shown = data(await lab.put("/lab/switches/google.iss", json={"on": False}))

    assert (shown["key"], shown["on"], shown["default"]) == ("google.iss", False, True)
    assert shown in data(await lab.get("/lab/switches"))
    assert ("iss" in before, "iss" in google.callback()) == (True, False)


async def test_auto_approval_works_until_it_is_switched_off(lab: httpx.AsyncClient, google: Visitor) -> None:
    data(await lab.put("/lab/auto-approve", json={"account": "omar"}))
    approved, hinted = google.ask(), google.ask(login_hint="rhea")
    standing = data(await lab.get("/lab/auto-approve"))
    data(await lab.put("/lab/auto-approve", json={"account": None}))

    people = [b"omar@corp.example", b"rhea@example.com"]
    tokens = [google.redeem(parameters(answer)["code"]).body.split(b'"')[3].decode() for answer in (approved, hinted)]
    assert [who in google.profile(token).body for who, token in zip(people, tokens, strict=True)] == [True, True]
    assert standing == {"account": "omar"}
    assert google.ask().status == 200


@pytest.mark.parametrize("name", NAMES)
def test_auto_approval_works_at_every_provider(visitor: Visitor) -> None:
    visitor.fake.world.approval.account = "rhea"

    answer = visitor.ask()

    assert "code=" in dict(answer.headers).get("location", "") or b'name="code"' in answer.body


async def test_a_reset_returns_to_the_approval_of_the_start(make_fake: Callable[..., App]) -> None:
    fake = make_fake(auto_approve="omar")
    fake.world.approval.account = None

    fake.reset()

    assert fake.world.approval.account == "omar"


async def test_the_key_of_the_ready_made_apple_application_fits_what_is_registered(lab: httpx.AsyncClient) -> None:
    (apple,) = (client for client in READY_MADE if client.provider == "apple")
    private = load_pem_private_key((await lab.get("/lab/ready-made/apple.p8")).content, None)

    assert private.public_key() == public_key(apple.public_key)
