"""A token of the wrong kind, and the exchange of an identity token (contract 4.3, D-05, D-07)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx
    from tests.refusals.kit.doors import AuthDoor, SocketDoor
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import BrowserKey, Json, Maker


def error_of(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and code of a refusal, after checking that it contains no data."""
    body: Json = answer.json()
    assert body["data"] is None
    return answer.status_code, body["error"]["code"]


@pytest.mark.row("JWT-151")
def test_a_custom_token_cannot_be_bound_anew(socket_door: SocketDoor, key: BrowserKey) -> None:
    """F109: neither to a thief's key nor to its own key."""
    shop = socket_door.shop
    stolen = shop.token()

    socket_door.accept(stolen)

    assert error_of(shop.exchange(stolen, key.jkt)) == (401, "token_type")


@pytest.mark.row("JWT-151")
def test_a_social_members_socket_token_cannot_be_bound_anew(service: Service, shop: Shop, key: BrowserKey) -> None:
    stolen = shop.exchange(shop.identity_token()).json()["data"]["auth_token"]

    assert service.try_token(stolen, shop.key).last["uid"] == "google:42"
    assert error_of(shop.exchange(stolen, key.jkt)) == (401, "token_type")


@pytest.mark.row("JWT-153")
def test_a_visitor_token_makes_nobody_a_member(service: Service, shop: Shop) -> None:
    token = shop.visitor_token()

    ended = service.try_token(token, shop.key)

    assert (ended.last["identity"], ended.last["uid"]) == ("visitor", shop.key.uid)
    assert error_of(shop.exchange(token)) == (401, "token_signature")


@pytest.mark.row("JWT-155")
def test_a_proof_is_no_token(service: Service, socket_door: SocketDoor) -> None:
    shop = socket_door.shop
    with service.socket() as peer:
        proof = peer.prove(shop.key, shop.token())

    told = socket_door.refuse(proof, "token_alg")

    assert told["member"] == "alg"
    assert error_of(shop.exchange(proof)) == (401, "token_alg")
    socket_door.accept(shop.token())


@pytest.mark.row("JWT-156")
def test_an_identity_token_ends_after_24_hours(auth_door: AuthDoor, service: Service) -> None:
    shop = auth_door.shop
    token = shop.identity_token()

    service.advance(86_400 - 30)
    auth_door.accept(token)
    service.advance(31)

    assert auth_door.refuse(token, "token_expired")["member"] == "exp"


@pytest.mark.row("JWT-157")
@pytest.mark.parametrize(
    ("query", "missing"),
    [
        ("jkt={jkt}", "auth"),
        ("auth={auth}", "jkt"),
        ("", "auth"),
        ("auth=&jkt={jkt}", "auth"),
        ("auth={auth}&jkt=", "jkt"),
        ("auth=&jkt=", "auth"),
    ],
)
def test_both_parameters_are_needed(service: Service, shop: Shop, query: str, missing: str) -> None:
    path, auth = f"{shop.path}/member/token", shop.identity_token()

    answer = service.http.get(f"{path}?{query.format(auth=auth, jkt=shop.key.jkt)}")

    assert service.http.get(f"{path}?auth={auth}&jkt={shop.key.jkt}").status_code == 200
    assert error_of(answer) == (400, "parameter_missing")
    assert f"The parameter {missing} is missing" in answer.json()["error"]["message"]


@pytest.mark.row("JWT-159")
def test_an_identity_token_counts_at_its_own_business(service: Service, shop: Shop) -> None:
    other = service.shop()
    token = shop.identity_token()

    assert shop.exchange(token).status_code == 200
    assert error_of(other.exchange(token, shop.key.jkt)) == (401, "token_signature")
    assert error_of(other.exchange(other.sign(shop.identity_claims()), shop.key.jkt)) == (401, "token_provider")


@pytest.mark.row("JWT-160")
@pytest.mark.parametrize("place", ["header", "cookie", "body"])
def test_an_identity_token_is_read_from_the_query_and_nowhere_else(service: Service, shop: Shop, place: str) -> None:
    path, auth = f"{shop.path}/member/token?jkt={shop.key.jkt}", shop.identity_token()
    places: dict[str, Json] = {
        "header": {"headers": {"Authorization": f"Bearer {auth}"}},
        "cookie": {"headers": {"Cookie": f"auth={auth}"}},
        "body": {"content": f"auth={auth}", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    }

    assert error_of(service.http.request("GET", path, **places[place])) == (400, "parameter_missing")
    assert service.http.get(f"{path}&auth={auth}").status_code == 200


@pytest.mark.parametrize(
    "bent",
    [
        pytest.param(lambda jkt: jkt[:-1], id="JWT-161-42-characters"),
        pytest.param(lambda jkt: jkt + "A", id="JWT-161-44-characters"),
        pytest.param(lambda jkt: "+" + jkt[1:], id="JWT-161-plus"),
        pytest.param(lambda jkt: " " + jkt[1:], id="JWT-161-space"),
        pytest.param(lambda jkt: "é" + jkt[1:], id="JWT-161-not-ascii"),
        pytest.param(lambda jkt: jkt * 238, id="JWT-161-10-kb"),
        pytest.param(lambda jkt: jkt[:-1] + "t", id="JWT-161-not-canonical"),
        pytest.param(lambda jkt: "\u0430" * 43, id="JWT-162-cyrillic"),
        pytest.param(lambda jkt: "ª" + jkt[1:], id="JWT-162-ordinal"),
        pytest.param(lambda jkt: "٣" * 43, id="JWT-162-arabic-digits"),
    ],
)
def test_a_jkt_is_43_characters_of_canonical_base64url(shop: Shop, bent: Callable[[str], str]) -> None:
    auth = shop.identity_token()

    answer = shop.exchange(auth, bent(shop.key.jkt))

    assert shop.exchange(auth).status_code == 200
    assert error_of(answer) == (400, "parameter_invalid")
    assert "The parameter jkt is not well-formed" in answer.json()["error"]["message"]


@pytest.mark.row("JWT-163")
def test_an_unbound_identity_token_is_a_bearer_token_and_a_bound_one_is_not(
    shop: Shop, make: Maker, key: BrowserKey
) -> None:
    unbound, bound = shop.identity_token(cnf=make.removed), shop.identity_token()

    assert [shop.exchange(unbound, jkt).status_code for jkt in (shop.key.jkt, key.jkt)] == [200, 200]
    assert shop.exchange(bound).status_code == 200
    assert error_of(shop.exchange(bound, key.jkt)) == (401, "token_key_mismatch")


@pytest.mark.row("JWT-164")
def test_an_identity_token_ends_with_the_secret_it_was_made_with(service: Service) -> None:
    """F113: this is after a rotation without an overlap."""
    shop = service.shop()
    token = shop.identity_token()
    assert shop.exchange(token).status_code == 200

    run = service.run("provider", "rotate-secret", shop.id, "--overlap", "0", "--json")
    assert run.returncode == 0, run.stderr
    service.advance(61)

    assert error_of(shop.exchange(token)) == (401, "token_signature")
    assert service.try_token(shop.token(), shop.key).refusal == ("token_signature", 4401)


@pytest.mark.row("JWT-164")
def test_an_identity_token_ends_with_the_social_login_and_with_the_business(service: Service) -> None:
    shop = service.shop()
    token = shop.identity_token()
    assert shop.exchange(token).status_code == 200

    service.http.patch(f"/lab/providers/{shop.id}", json={"socials": {"google": {"enabled": False}}})
    service.advance(61)
    without_google = shop.exchange(token)
    service.http.patch(f"/lab/providers/{shop.id}", json={"enabled": False})
    service.advance(61)
    without_business = shop.exchange(token)

    assert error_of(without_google) == (401, "token_revoked")
    assert error_of(without_business) == (403, "provider_off")
