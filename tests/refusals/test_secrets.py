"""Tests of the secret that a business shares with the service: valid values, common mistakes, and replacement."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service


@pytest.mark.row("JWT-075")
@pytest.mark.contract("D-20/cause")
def test_a_mac_made_with_the_decoded_secret_is_refused_and_the_mistake_named(service: Service) -> None:
    """F103: integrators make this mistake if their `getToken` code decodes the secret before signing."""
    raw = bytes(range(100, 148))
    shop = service.shop(secret_key=base64.b64encode(raw).decode())

    assert service.try_token(shop.token(), shop.key).granted
    ended = service.try_token(shop.sign(shop.claims(), key=raw), shop.key)

    ended.refused("token_signature", 4401)
    assert ended.frames[-1]["cause"] == "the signature verifies with the base64-decoded secret"
    assert service.heard("socket.refused")["facts"]["cause"] == ended.frames[-1]["cause"]


@pytest.mark.parametrize(
    ("secret", "message"),
    [
        pytest.param("k" * 31, "secret_key must have at least 32 bytes.", id="JWT-079"),
        pytest.param("", "secret_key must have at least 32 bytes.", id="JWT-080-empty"),
        pytest.param(
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
            "secret_key is a PEM key; HS256 needs a random text that both sides share.",
            id="JWT-080-pem",
        ),
        pytest.param(
            " " + "k" * 40,
            "secret_key begins or ends with white space, which is easily lost when it is copied.",
            id="JWT-080-space",
        ),
    ],
)
def test_an_unusable_secret_is_refused(service: Service, secret: str, message: str) -> None:
    assert service.shop(secret_key="k" * 32).id

    answer = service.http.post("/lab/providers", json={"secret_key": secret})

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["message"]) == (400, "parameter_invalid", message)


@pytest.mark.parametrize(
    "weak",
    [
        pytest.param("too-short", id="JWT-079"),
        pytest.param("-----BEGIN PRIVATE KEY-----" + "A" * 40, id="JWT-080"),
    ],
)
def test_the_command_line_refuses_a_weak_secret_too(service: Service, weak: str) -> None:
    run = service.run("provider", "add", "--secret-env", "THE_SECRET", THE_SECRET=weak)

    assert run.returncode == 1
    assert "secret_key" in run.stderr
    assert weak not in run.stdout + run.stderr


@pytest.mark.row("JWT-164", "WSK-055")
def test_after_a_rotation_without_an_overlap_only_open_sockets_outlive_the_old_secret(service: Service) -> None:
    """F113: an open socket must stay open until its next token. Otherwise all sockets would reconnect at once."""
    shop = service.shop()
    identity, token = shop.identity_token(), shop.token()
    assert shop.exchange(identity).status_code == 200
    with service.socket() as peer:
        peer.join(token, shop.key)
        old, shop.secret = shop.secret, b"a-new-secret-of-more-than-thirty-two-bytes"
        rotate = ("provider", "rotate-secret", shop.id, "--overlap", "0", "--secret-env", "NEW")
        run = service.run(*rotate, NEW=shop.secret.decode())
        assert run.returncode == 0, run.stderr
        service.advance(61)  # by now the service's cached view of the provider has expired

        assert shop.exchange(identity).json()["error"]["code"] == "token_signature"
        service.try_token(shop.sign(shop.claims(), key=old), shop.key).refused("token_signature", 4401)
        peer.granted({"type": "ping"}, "pong")
        peer.granted({"type": "refresh", "token": shop.token()}, "refreshed")
        peer.say({"type": "refresh", "token": shop.sign(shop.claims(), key=old)})
        peer.end().refused("token_signature", 4401)
