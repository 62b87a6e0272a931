"""Tests which facts about callers the service logs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import Maker


@pytest.mark.row("HTP-042")
def test_the_access_log_shows_no_token(service: Service, shop: Shop) -> None:
    mark = service.process.mark

    assert shop.exchange(shop.identity_token()).status_code == 200
    line = service.logged(f"{shop.path}/member/token?", since=mark)

    assert "auth=[redacted]" in line
    assert quote(shop.key.jkt) not in line
    assert "eyJ" not in line


@pytest.mark.row("WSK-009")
def test_a_token_among_the_subprotocols_is_not_echoed(service: Service, shop: Shop) -> None:
    token = shop.token()

    with service.socket(subprotocols=["bearer", token]) as peer:
        answer = peer.connection.response

    assert answer is not None
    assert token not in str(answer.headers)


@pytest.mark.row("PRF-015")
def test_a_private_key_in_a_proofs_header_is_not_logged(service: Service, shop: Shop, make: Maker) -> None:
    """F130: neither the response nor the log may repeat the private key."""
    d = make.b64(shop.key.private.private_numbers().private_value.to_bytes(32, "big"))
    token = shop.token()

    with service.socket() as peer:
        ended = peer.connect(token, peer.prove(shop.key, token, header={"jwk": {**shop.key.jwk, "d": d}}))

    ended.refused("proof_jwk", 4403)
    assert "private" in ended.frames[-1]["message"]
    assert d not in service.process.output()


@pytest.mark.parametrize("seconds", [pytest.param(-10, id="PRF-071-past"), pytest.param(3600, id="PRF-071-future")])
def test_a_browsers_clock_that_is_off_is_logged_with_the_difference(service: Service, shop: Shop, seconds: int) -> None:
    """F133: the log must contain the difference between the browser's clock and the server's."""
    token = shop.token()

    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token, iat=int(service.now()) + seconds)).granted

    assert abs(service.heard("socket.ready")["facts"]["skew"] - seconds) <= 2
