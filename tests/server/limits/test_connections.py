"""Tests of the bytes of unfinished requests and messages that one client address may hold."""

from __future__ import annotations

import pytest

from chatkey_server.limits.connections import MOST_UNFINISHED, Connections

HERE, NEIGHBOUR, ELSEWHERE = "2001:db8::1", "2001:db8::2", "2001:db8:1::1"


@pytest.fixture
def door() -> Connections:
    return Connections(sockets=0, ipv6_prefix=64, trusted_proxies="10.0.0.0/8")


def test_the_addresses_of_a_network_hold_no_more_than_the_limit_together(door: Connections) -> None:
    assert door.hold(HERE, MOST_UNFINISHED)

    assert not door.hold(NEIGHBOUR, 1)
    assert door.hold(ELSEWHERE, MOST_UNFINISHED)


def test_what_is_complete_no_longer_counts(door: Connections) -> None:
    door.hold(HERE, MOST_UNFINISHED)
    door.hold(HERE, -MOST_UNFINISHED)

    assert door.hold(NEIGHBOUR, MOST_UNFINISHED)


@pytest.mark.parametrize("address", ["10.0.0.1", "::ffff:10.0.0.1"])
def test_a_trusted_proxy_holds_the_requests_of_many_clients(address: str, door: Connections) -> None:
    assert door.hold(address, MOST_UNFINISHED + 1)
