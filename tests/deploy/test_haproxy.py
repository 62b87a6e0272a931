"""Tests of the service behind a real HAProxy, which forwards the trailers of a request (RFC 9112 7.1.2)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from tests.deploy.proxies import haproxy
from tests.refusals.kit.shipped import Service, serving

from chatkey_peer.peer import peer
from chatkey_server.limits.rates import SIGN_INS_PER_MINUTE
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports

GUESS = (
    "POST /agent/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    "Connection: close\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
    "1b\r\nusername=eve&password=guess\r\n0\r\n{trailers}\r\n"
)
Guess = Callable[..., int]


@pytest.fixture(scope="module")
def port() -> int:
    (port,) = free_ports(1)
    return port


@pytest.fixture(scope="module")
def service(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service behind HAProxy, whose address it trusts. Clients of HAProxy have other loopback addresses."""
    folder, base_url = tmp_path_factory.mktemp("haproxy"), f"http://localhost:{port}"
    settings = {"BASE_URL": base_url, "TRUSTED_PROXIES": LOOPBACK, "LAB_TOKEN": "a-token-of-the-lab"}
    with serving(folder, settings) as made, haproxy(folder, port, made.port):
        yield made


@pytest.fixture
def guess(port: int, service: Service) -> Guess:
    """Return a function that guesses an agent's password from an address, and returns the status."""
    service.reset()

    def guess(client: str = "127.0.0.2", origin: str = f"http://localhost:{port}", trailers: str = "") -> int:
        sent = GUESS.format(headers=f"Origin: {origin}\r\n" if origin else "", trailers=trailers)
        with socket.create_connection((LOOPBACK, port), PATIENCE, source_address=(client, 0)) as wire:
            wire.sendall(sent.encode())
            return int(wire.recv(12)[-3:])

    return guess


def test_a_socket_connects_through_it(port: int, service: Service) -> None:
    shop = service.shop()

    with peer(f"ws://localhost:{port}/v1/socket", origin="https://shop.example", ca=None) as opened:
        assert opened.connect_with(shop.token(), shop.key).code == "ready"


@pytest.mark.contract("D-20/forwarded")
def test_guesses_are_counted_for_the_address_in_the_header_of_haproxy_and_not_in_a_trailer(guess: Guess) -> None:
    """Some of the later guesses may be allowed, because the limit recovers with time."""
    guesses = [guess(trailers=f"X-Forwarded-For: 192.0.2.{number}\r\n") for number in range(2 * SIGN_INS_PER_MINUTE)]
    neighbour = [guess(client="127.0.0.3", trailers="X-Forwarded-For: 127.0.0.2\r\n") for _ in range(2)]

    assert (guesses[:SIGN_INS_PER_MINUTE], set(guesses)) == ([401] * SIGN_INS_PER_MINUTE, {401, 429})
    assert neighbour == [401, 401]


@pytest.mark.parametrize("trailers", ["", "Origin: {own}\r\n", "Origin: https://evil.example\r\n"])
def test_an_origin_in_a_trailer_changes_nothing(port: int, guess: Guess, trailers: str) -> None:
    sent = trailers.format(own=f"http://localhost:{port}")

    assert (guess(trailers=sent), guess(origin="", trailers=sent)) == (401, 403)
