"""Tests of the demo's ports: fixed ports by default, free ports on request, and a clear error if a port is taken."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatkey_demo.hub.holder import holder_of
from chatkey_demo.hub.places import Places, is_busy, places
from chatkey_stack.ports import LOOPBACK

LISTENS, CONNECTED = "0A", "01"


def consecutive() -> int:
    """Return a base port for the demo. All ports that the demo derives from the base port are free."""
    for port in range(18_800, 60_000, 100):
        if not any(is_busy(port + offset) for offset in (0, 1, 2, 11, 12, 13, 14)):
            return port
    raise AssertionError("no ports")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server((LOOPBACK, consecutive() + 1)) as listener:
        yield listener


def test_the_ports_follow_that_of_the_hub() -> None:
    port = consecutive()

    assert places(port) == Places(port, port + 1, port + 2, (port + 11, port + 12, port + 13, port + 14))


def test_port_0_takes_seven_free_ones() -> None:
    found = places(0)

    assert len(set(found.all)) == 7
    assert not [port for port in found.all if is_busy(port)]


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system does not say who listens")
def test_the_holder_of_a_port_is_named_with_its_process_id(listener: socket.socket) -> None:
    holder = holder_of(listener.getsockname()[1])

    assert holder
    assert holder.endswith(f"(process {os.getpid()})")


def test_a_port_that_only_ipv6_has_is_busy_too() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")

    with listener:
        assert is_busy(listener.getsockname()[1])


def fake_proc(tmp_path: Path, *, state: str, inode: str = "4242") -> Path:
    (tmp_path / "net").mkdir()
    row = f"   0: 0100007F:2260 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0  0 {inode} 1\n"
    (tmp_path / "net" / "tcp").write_text("  sl  local_address …\n" + row)
    (tmp_path / "77" / "fd").mkdir(parents=True)
    (tmp_path / "77" / "fd" / "3").symlink_to("socket:[4242]")
    (tmp_path / "77" / "comm").write_text("caddy\n")
    return tmp_path


def test_the_process_on_a_port_is_read_from_the_systems_tables(tmp_path: Path) -> None:
    assert holder_of(0x2260, fake_proc(tmp_path, state=LISTENS)) == "caddy (process 77)"


@pytest.mark.parametrize(
    ("port", "state", "inode"),
    [
        pytest.param(0x2261, LISTENS, "4242", id="another port"),
        pytest.param(0x2260, CONNECTED, "4242", id="a connection, not a listener"),
        pytest.param(0x2260, LISTENS, "1", id="a process of somebody else"),
    ],
)
def test_no_process_is_named_without_evidence(tmp_path: Path, port: int, state: str, inode: str) -> None:
    assert holder_of(port, fake_proc(tmp_path, state=state, inode=inode)) is None


def test_no_process_is_named_on_a_system_without_tables(tmp_path: Path) -> None:
    assert holder_of(80, tmp_path) is None
