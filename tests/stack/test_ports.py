"""Tests of the search for free ports for servers."""

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


def test_no_outgoing_connection_takes_one_before_its_server_starts() -> None:
    assert not [port for port in free_ports(50) if port >= 32_768]


def test_more_than_there_are_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "OFFERED", range(20_000, 20_003))

    with pytest.raises(OSError, match="does not have 4 free ports between 20000 and 20002"):
        free_ports(4)
