"""How the running service treats tokens, beyond the table: their size in query and frame, and whose secret applies."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from tests.refusals.kit.doors import AuthDoor, Door, SocketDoor
    from tests.refusals.kit.shipped import Service

HEADER = {"alg": "HS256", "typ": "JWT"}


# the text


@pytest.mark.row("JWT-001")
def test_an_empty_token_is_no_token(socket_door: SocketDoor, auth_door: AuthDoor) -> None:
    socket_door.accept(socket_door.shop.token())
    socket_door.refuse("", "token_malformed")

    answer = auth_door.shop.exchange("")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_missing")


@pytest.mark.row("JWT-016")
def test_a_token_is_decoded_once(auth_door: AuthDoor, service: Service) -> None:
    shop = auth_door.shop
    once = shop.identity_token().replace(".", "%2E")

    def exchange(auth: str) -> int:
        return service.http.get(f"{shop.path}/member/token?auth={auth}&jkt={shop.key.jkt}").status_code

    assert exchange(once) == 200
    assert exchange(once.replace("%", "%25")) == 401


@pytest.mark.row("JWT-021")
@pytest.mark.parametrize("size", [16 * 1024 + 1, 100_000, 1_000_000, 10_000_000])
def test_one_beyond_the_limits_of_query_or_frame_is_refused_before_it_is_looked_at(
    socket_door: SocketDoor, auth_door: AuthDoor, service: Service, size: int
) -> None:
    shop = auth_door.shop
    token = "a" * size

    line = f"GET {shop.path}/member/token?jkt={shop.key.jkt}&auth={token} HTTP/1.1"
    answer = service.raw(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400 ") or (size > 65_536 and not answer)  # closed while we were still sending
    if size < 65_536:
        socket_door.refuse(token, "token_too_large")
        return
    with service.socket() as peer:
        with suppress(ConnectionClosed):  # the server may close before it has read everything
            peer.say({"type": "connect", "token": token, "proof": "x"})
        ended = peer.end()
    assert (ended.frames, ended.close) == ([], 1009)


# whose secret


@pytest.mark.row("JWT-041")
def test_a_kid_that_names_another_business_does_not_choose_its_secret(door: Door, service: Service) -> None:
    other = service.shop()
    header = {**HEADER, "kid": other.id}

    door.accept(door.shop.sign(door.claims(), header=header))
    door.refuse(door.shop.sign(door.claims(), header=header, key=other.secret), "token_signature")


@pytest.mark.row("JWT-073")
def test_the_mac_of_another_business_is_refused(door: Door, service: Service) -> None:
    """F102: each provider's tokens are checked with that provider's own secret."""
    other = service.shop()

    door.accept(door.shop.sign(door.claims()))
    door.refuse(door.shop.sign(door.claims(), key=other.secret), "token_signature")


@pytest.mark.row("JWT-075")
def test_a_mac_made_with_the_decoded_secret_is_refused_and_the_mistake_named(service: Service) -> None:
    """F103: this happens if the code behind an integrator's `getToken` decodes the secret before it signs."""
    raw = bytes(range(100, 148))
    shop = service.shop(secret_key=base64.b64encode(raw).decode())

    assert service.try_token(shop.token(), shop.key).granted
    ended = service.try_token(shop.sign(shop.claims(), key=raw), shop.key)

    assert ended.refusal == ("token_signature", 4401)
    assert ended.last["cause"] == "the signature verifies with the base64-decoded secret"
    assert service.heard("socket.refused")["facts"]["cause"] == ended.last["cause"]


# which secrets can be configured


@pytest.mark.row("JWT-079")
def test_a_secret_of_less_than_32_bytes_is_not_configured(service: Service) -> None:
    assert service.shop(secret_key="k" * 32).id
    assert refused_secret(service, "k" * 31) == "secret_key must have at least 32 bytes."


@pytest.mark.row("JWT-080")
@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ("", "secret_key must have at least 32 bytes."),
        (
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
            "secret_key is a PEM key; HS256 wants a random text that both ends share.",
        ),
        (" " + "k" * 40, "secret_key has white space at an end, which gets lost when it is copied."),
    ],
    ids=["empty", "pem", "white-space"],
)
def test_what_is_no_secret_is_not_configured(service: Service, secret: str, message: str) -> None:
    assert refused_secret(service, secret) == message


@pytest.mark.row("JWT-079", "JWT-080")
def test_the_command_line_refuses_a_weak_secret_too(service: Service, row: str) -> None:
    weak = {"JWT-079": "too-short", "JWT-080": "-----BEGIN PRIVATE KEY-----" + "A" * 40}[row]

    run = service.run("provider", "add", "--secret-env", "THE_SECRET", THE_SECRET=weak)

    assert run.returncode == 1
    assert "secret_key" in run.stderr
    assert weak not in run.stdout + run.stderr


def refused_secret(service: Service, secret: str) -> str:
    """Return the reason why a provider cannot have this secret."""
    answer = service.http.post("/lab/providers", json={"secret_key": secret})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "parameter_invalid")
    return str(error["message"])
