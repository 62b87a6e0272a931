"""Tests of `--any-client`, with which a fake accepts any client id, any secret, and any local redirect URI."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import VERIFIER, Visitor, content

from chatkey_oauth.cli import guide
from chatkey_oauth.engine.http import encode
from chatkey_oauth.providers import NAMES
from chatkey_oauth.settings import Settings

if TYPE_CHECKING:
    from chatkey_oauth.app import App

HERE = "http://localhost:3000/back"
EVERY = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def visit(make_fake: Callable[..., App]) -> Callable[[str], Visitor]:
    """Return a visitor for a provider that accepts any client."""
    fake = make_fake(lab=True, any_client=True)
    return lambda name: Visitor(fake, name)


def code_for(visitor: Visitor) -> str:
    """Approve a request of an unregistered application, and return the code."""
    location = dict(visitor.decide(client_id="whoever-asks", redirect_uri=HERE).headers)["location"]
    assert location.startswith(f"{HERE}?")
    return location.partition("code=")[2].partition("&")[0].partition("#")[0]


@EVERY
@pytest.mark.parametrize("secret", ["any secret", "another", ""])
def test_any_client_can_log_in_with_any_secret_or_none(visitor: Visitor, name: str, secret: str) -> None:
    code = code_for(visitor)  # still percent-encoded, as the form needs it
    form = {
        "grant_type": "authorization_code",
        "redirect_uri": HERE,
        "client_id": "whoever-asks",
        "client_secret": secret,
        "code_verifier": VERIFIER,
    }
    if name == "linkedin":
        del form["code_verifier"]  # LinkedIn refuses it
    body = f"{encode(visitor.site.named(form))}&code={code}"

    answer = visitor.post(visitor.site.token, body.encode(), accept="application/json")

    assert content(answer)["access_token"]


@EVERY
def test_only_addresses_of_this_machine_are_taken(visitor: Visitor) -> None:
    answer = visitor.ask(client_id="whoever-asks", redirect_uri="https://elsewhere.example/")

    assert not dict(answer.headers).get("location", "").startswith("https://elsewhere.example/")


@EVERY
def test_a_registered_client_still_needs_its_secret(visitor: Visitor) -> None:
    answer = visitor.redeem(visitor.callback()["code"], client_secret="wrong")

    assert "access_token" not in content(answer)


@EVERY
def test_without_the_setting_unknown_clients_are_refused(fake: App, name: str) -> None:
    assert Visitor(fake, name).ask(client_id="whoever-asks", redirect_uri=HERE).status >= 400


def test_an_impossible_client_id_is_refused(visit: Callable[[str], Visitor]) -> None:
    for client_id in ("", "a b", "x" * 256):
        assert visit("google").ask(client_id=client_id, redirect_uri=HERE).status >= 400


def test_a_person_at_a_terminal_is_told() -> None:
    assert "any, with any secret" in guide(Settings(any_client=True))
    assert "any, with any secret" not in guide(Settings())
