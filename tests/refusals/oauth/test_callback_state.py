"""Tests of the `state` in the callback after an approval, beyond the suite's cases (contract 4.5, 5.7, D-07)."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop
    from tests.refusals.oauth.sign_in import MakeSignIn

    from chatkey_conform.making.honest import Maker

CACHE_SECONDS = 61


@pytest.mark.row("OAC-005")
def test_a_state_from_the_future_is_400(service: Service, sign_in: MakeSignIn) -> None:
    service.advance(3600)
    login = sign_in("github")
    given = login.approve()
    service.reset()

    page = login.refuse(given, "state_invalid")

    assert "time is in the future" in page.text
    service.advance(3600)
    login.accept(given)


@pytest.mark.row("OAC-006")
def test_a_state_is_good_once_whatever_code_comes_with_it(service: Service, sign_in: MakeSignIn) -> None:
    login = sign_in()
    first, fresh = login.approve(), login.approve()
    assert first["code"] != fresh["code"]

    login.accept(first)

    login.refuse(fresh, "state_used")
    page = login.refuse(first, "state_used", told=False)
    assert "Sign-in under way" in page.text
    service.advance(60)
    login.refuse(first, "state_used")
    service.advance(540)
    login.refuse(fresh, "state_expired")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        pytest.param(1, "the-other", id="OAC-009"),
        pytest.param(2, "github", id="OAC-009-social"),
        pytest.param(3, "https://evil.test", id="OAC-009-origin"),
        pytest.param(4, 4_000_000_000, id="OAC-009-iat"),
        pytest.param(5, "another-nonce", id="OAC-009-nonce"),
        pytest.param(6, "A" * 43, id="OAC-009-jkt"),
    ],
)
@pytest.mark.parametrize("signed_by", ["nobody", "the-business"])
def test_the_members_of_a_state_cannot_be_changed_even_with_a_secret_key(
    *, service: Service, shop: Shop, sign_in: MakeSignIn, make: Maker, member: int, value: Any, signed_by: str
) -> None:
    login = sign_in()
    given = login.approve()
    payload, _, mac = login.state.partition(".")
    parts = json.loads(make.unb64(payload))
    parts[member] = service.shop().id if value == "the-other" else value
    swapped = make.b64(make.dumps(parts))
    if signed_by == "the-business":
        mac = make.b64(make.mac(swapped, shop.secret))

    at = "github" if value == "github" else None
    page = login.refuse({**given, "state": f"{swapped}.{mac}"}, "state_invalid", told=False, at=at)

    assert "altered, or was not made by this service" in page.text
    login.accept(given)


@pytest.mark.row("OAC-009")
def test_a_state_signed_with_the_secret_of_the_business_is_400(shop: Shop, sign_in: MakeSignIn, make: Maker) -> None:
    login = sign_in()
    given = login.approve()
    payload = login.state.partition(".")[0]
    keys = (shop.secret, hashlib.sha256(shop.secret).digest(), b"")

    for key in keys:
        forged = f"{payload}.{make.b64(make.mac(payload, key))}"
        login.refuse({**given, "state": forged}, "state_invalid", told=False)

    login.accept(given)


@pytest.mark.row("OAC-013")
def test_a_business_removed_during_the_login_refuses_it(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop()
    login = sign_in(shop=shop)
    sign_in(shop=shop).accept()
    service.lab.remove_provider(shop.id)
    service.advance(CACHE_SECONDS)

    login.refuse(login.approve(), "provider_unknown", told=False)


@pytest.mark.row("OAC-014")
def test_an_origin_that_is_no_longer_registered_gets_no_message(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop()
    login = sign_in(shop=shop)
    given = login.approve()
    service.lab.change_provider(shop.id, domains=["new.example"])
    service.advance(CACHE_SECONDS)

    page = login.refuse(given, "state_invalid", told=False)

    assert "no longer registered" in page.text
    service.lab.change_provider(shop.id, domains=["new.example", "shop.example"])
    service.advance(CACHE_SECONDS)
    login.accept(given)
