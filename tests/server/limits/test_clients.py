"""Tests how limits identify a client: by IPv4 address or by IPv6 network."""

from __future__ import annotations

import pytest

from chatkey_server.limits.clients import counted_as


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:DB8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::/64"),
        ("", ""),
        ("unknown", "unknown"),
        ("no:address", "no:address"),
    ],
)
def test_ipv6_clients_are_counted_by_network_and_others_by_address(address: str, client: str) -> None:
    assert counted_as(address, 64) == client


def test_the_network_is_as_large_as_it_is_set() -> None:
    assert counted_as("2001:db8:1:2::1", 128) == "2001:db8:1:2::1/128"
    assert counted_as("2001:db8:1:2::1", 48) == "2001:db8:1::/48"
