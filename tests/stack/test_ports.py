"""Free ports for servers that are about to start."""

import socket

from chatkey_stack.ports import LOOPBACK, free_ports


def test_ports_differ_and_can_be_bound() -> None:
    ports = free_ports(20)

    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as listener:
            listener.bind((LOOPBACK, port))
