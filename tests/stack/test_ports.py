"""Tests the search for free ports for servers."""

import socket

import pytest

from chatkey_stack import ports
from chatkey_stack.ports import LOOPBACK, free_ports


def test_ports_differ_and_can_be_bound() -> None:
    found = free_ports(20)

    assert len(set(found)) == 20
    for port in found:
        with socket.socket() as listener:
            listener.bind((LOOPBACK, port))


def test_ports_are_outside_the_range_of_outgoing_connections() -> None:
    assert not [port for port in free_ports(50) if port >= 32_768]


def test_asking_for_more_ports_than_available_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "OFFERED", range(20_000, 20_003))

    with pytest.raises(OSError, match="does not have 4 free ports between 20000 and 20002"):
        free_ports(4)
