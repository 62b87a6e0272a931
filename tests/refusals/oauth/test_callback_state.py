"""The `state` that returns to the callback, and the requests that may carry it (contract 4.5, 5.7, D-05, D-07)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_stack.applications import Application
from chatkey_stack.lab import SocialKeys

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop
    from tests.refusals.oauth.sign_in import MakeSignIn

    from chatkey_conform.making.honest import Maker

    Damage = Callable[[str], str]

CACHE_SECONDS = 61


def flipped(at: int) -> Damage:
    """Return a function that changes one character: 0 is the first of the payload, -1 the last of the MAC."""

    def damage(state: str) -> str:
        characters = list(state)
        characters[at] = "A" if characters[at] != "A" else "B"
        return "".join(characters)

    return damage


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        pytest.param(lambda _: "", "parameter_missing", id="OAC-001-empty"),
        pytest.param(flipped(0), "state_invalid", id="OAC-002-first"),
        pytest.param(flipped(60), "state_invalid", id="OAC-002-payload"),
        pytest.param(flipped(-20), "state_invalid", id="OAC-002-mac"),
        pytest.param(flipped(-1), "state_invalid", id="OAC-002-last"),
        pytest.param(lambda state: state[:-1], "state_invalid", id="OAC-002-truncated"),
        pytest.param(lambda state: state.partition(".")[0], "state_invalid", id="OAC-002-no-mac"),
        pytest.param(lambda state: state.partition(".")[0] + ".", "state_invalid", id="OAC-002-empty-mac"),
        pytest.param(lambda state: "." + state.partition(".")[2], "state_invalid", id="OAC-002-no-payload"),
        pytest.param(lambda state: state + "=", "state_invalid", id="OAC-002-padded"),
        pytest.param(lambda state: state + ".", "state_invalid", id="OAC-002-dot"),
        pytest.param(lambda state: state + " ", "state_invalid", id="OAC-002-space"),
        pytest.param(lambda state: state + "\0", "state_invalid", id="OAC-002-nul"),
        pytest.param(lambda state: state + "é", "state_invalid", id="OAC-002-accent"),
        pytest.param(lambda state: state + "A" * 2_000, "state_invalid", id="OAC-012-2k"),
        pytest.param(lambda state: state + "A" * 20_000, "parameter_invalid", id="OAC-012-20k"),
    ],
)
def test_a_state_that_is_not_as_it_was_given_is_400_and_nobody_is_told(
    sign_in: MakeSignIn, damage: Damage, code: str
) -> None:
    login = sign_in()
    given = login.approve()

    page = login.refuse({**given, "state": damage(login.state)}, code, told=False)

    assert "Start" in page.text or code == "parameter_invalid"
    login.accept(given)


@pytest.mark.row("OAC-001")
def test_without_a_state_it_is_400(sign_in: MakeSignIn) -> None:
    login = sign_in()
    given = login.approve()

    login.refuse({name: value for name, value in given.items() if name != "state"}, "parameter_missing", told=False)

    login.accept(given)


@pytest.mark.row("OAC-012")
def test_a_state_that_fills_the_address_is_400(service: Service, sign_in: MakeSignIn) -> None:
    login = sign_in()
    line = f"GET {login.callback}?state={'A' * 100_000}&code=x HTTP/1.1\r\nHost: localhost\r\n\r\n"

    assert service.raw(line.encode()).startswith(b"HTTP/1.1 400 ")

    login.accept()


@pytest.mark.parametrize(
    ("age", "code"),
    [
        pytest.param(599.5, None, id="OAC-004-just-in-time"),
        pytest.param(600, "state_expired", id="OAC-004-ten-minutes"),
        pytest.param(601, "state_expired", id="OAC-004-later"),
        pytest.param(86_400, "state_expired", id="OAC-004-next-day"),
    ],
)
def test_a_state_lives_ten_minutes(
    service: Service, sign_in: MakeSignIn, make: Maker, age: float, code: str | None
) -> None:
    """F066: half a second before its end a state is accepted. Afterwards the opener is told that it came too late."""
    login = sign_in("github")
    given = login.approve()
    made_at = json.loads(make.unb64(login.state.partition(".")[0]))[4]

    service.advance(made_at + age - service.now())

    if code is None:
        login.accept(given)
    else:
        login.refuse(given, code)


@pytest.mark.row("OAC-005")
def test_a_state_from_the_future_is_400(service: Service, sign_in: MakeSignIn) -> None:
    service.advance(3600)
    login = sign_in("github")
    given = login.approve()
    service.reset()

    page = login.refuse(given, "state_invalid")

    assert "made in the future" in page.text
    service.advance(3600)
    login.accept(given)


@pytest.mark.row("OAC-006")
def test_a_state_is_good_once_whatever_code_comes_with_it(service: Service, sign_in: MakeSignIn) -> None:
    login = sign_in()
    first, fresh = login.approve(), login.approve()
    assert first["code"] != fresh["code"]

    login.accept(first)

    login.refuse(fresh, "state_used")
    login.refuse(first, "state_used")
    service.advance(600)
    login.refuse(fresh, "state_expired")


@pytest.mark.row("OAC-006")
def test_a_refused_login_is_used_up_as_well(sign_in: MakeSignIn) -> None:
    login = sign_in()
    given = login.approve()
    login.refuse({"state": login.state, "error": "access_denied"}, "oauth_denied")

    login.refuse(given, "state_used")

    sign_in().accept()


@pytest.mark.row("OAC-008")
def test_a_state_is_good_at_the_callback_of_its_own_social_provider(sign_in: MakeSignIn) -> None:
    login = sign_in()
    given = login.approve()

    page = login.refuse(given, "state_invalid", told=False, at="github")

    assert "it belongs to a login with google, and this is the callback of github" in page.text
    login.accept(given)


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
def test_what_stands_in_a_state_cannot_be_changed_nor_signed_anew_with_a_secret_key(
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

    assert "altered, or not made by this service" in page.text
    login.accept(given)


@pytest.mark.row("OAC-009")
def test_a_state_as_it_is_but_signed_with_the_businesss_secret_is_400(
    shop: Shop, sign_in: MakeSignIn, make: Maker
) -> None:
    login = sign_in()
    given = login.approve()
    payload = login.state.partition(".")[0]
    keys = (shop.secret, hashlib.sha256(shop.secret).digest(), b"")

    for key in keys:
        forged = f"{payload}.{make.b64(make.mac(payload, key))}"
        login.refuse({**given, "state": forged}, "state_invalid", told=False)

    login.accept(given)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("state", id="OAC-011-state"),
        pytest.param("code", id="OAC-011-code"),
        pytest.param("iss", id="OAC-011-iss"),
        pytest.param("error", id="OAC-011-error"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_parameter_that_comes_twice_is_400_even_if_both_are_the_same(
    sign_in: MakeSignIn, name: str, method: str
) -> None:
    login = sign_in()
    given = login.approve()
    repeated = {**given, name: [given.get(name, "x")] * 2}

    page = login.refuse(repeated, "parameter_repeated", told=False, method=method)

    assert f"The parameter {name} is given more than once" in page.text
    login.accept(given, method=method)


@pytest.mark.row("OAC-013")
def test_a_social_login_that_was_switched_off_meanwhile_lets_nobody_in(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop()
    login, later = sign_in(shop=shop), sign_in(shop=shop)
    sign_in(shop=shop).accept()
    keys = SocialKeys("own", Application("google", "shop-client", "shop-client-secret"), enabled=False)
    service.lab.change_provider(shop.id, socials={"google": keys})
    service.advance(CACHE_SECONDS)

    login.refuse(login.approve(), "social_disabled")

    service.lab.change_provider(shop.id, enabled=False)
    service.advance(CACHE_SECONDS)
    later.refuse(later.approve(), "provider_off")


@pytest.mark.row("OAC-013")
def test_a_business_that_was_removed_meanwhile_lets_nobody_in(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop()
    login = sign_in(shop=shop)
    sign_in(shop=shop).accept()
    service.lab.remove_provider(shop.id)
    service.advance(CACHE_SECONDS)

    login.refuse(login.approve(), "provider_unknown", told=False)


@pytest.mark.row("OAC-014")
def test_an_origin_that_is_no_longer_registered_is_told_nothing(service: Service, sign_in: MakeSignIn) -> None:
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
