"""Network namespaces that act as machines. Each has one link to a router, which can drop packets between two machines.

All namespaces belong to this program: network, mount and process namespaces. The kernel removes these namespaces when
the program ends, even if it is killed. The network of the real machine is not changed.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

INSIDE: Final = "--inside"
NAMED: Final = Path("/run/netns")
ROUTER: Final = "router"
TOOLS: Final = ("ip", "tc", "nft", "unshare", "setpriv")
OWN: Final = ("--net", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child")
LINK: Final = ("delay", "1ms", "loss", "0.1%")
"""The netem settings for each link, in each direction."""
LOSSES: Final = "losses"
"""The nftables table with the rules that drop packets. We use nftables because many kernels have no netem."""
_NETWORK: Final = 0x40000000
"""`CLONE_NEWNET` for setns(2); Python has a constant for it only since 3.12."""


def why_not() -> str | None:
    """Return the reason why namespaces cannot be created here, or None if they can."""
    if sys.platform != "linux":
        return "network namespaces exist only on Linux"
    if os.geteuid() != 0:
        return "only root can create network namespaces"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"not installed: {', '.join(missing)} (Debian's iproute2, nftables and util-linux)" if missing else None


def enter() -> None:
    """Replace this process with a new run of this program in separate namespaces."""
    command = [sys.executable, "-m", "benchmarks.hosts", INSIDE, *sys.argv[1:]]
    os.execvp("unshare", ["unshare", *OWN, *command])


class Network:
    """The simulated machines by name, each with an address. This process also runs on one of these machines."""

    def __init__(self, *names: str, here: str) -> None:
        NAMED.mkdir(exist_ok=True)
        _run("mount", "-t", "tmpfs", "tmpfs", str(NAMED))
        _run("ip", "netns", "add", ROUTER)
        _inside(ROUTER, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        self._places = {name: place for place, name in enumerate((here, *names), 1)}
        for name, place in self._places.items():
            _join(name, place)
        self.has_netem = min([_is_bent(name) for name in self._places])
        _move_to(here)

    def address(self, name: str) -> str:
        return f"10.77.{self._places[name]}.2"

    @contextmanager
    def lossy(self, name: str, share: float) -> Iterator[None]:
        """Drop a random share of a machine's packets, in each direction."""
        drop = f"numgen random mod 1000 < {round(share * 1000)} drop"
        rules = [f"add rule ip {LOSSES} forward ip {way} {self.address(name)} {drop}" for way in ("saddr", "daddr")]
        chain = f"add chain ip {LOSSES} forward {{ type filter hook forward priority 0; }}"
        _inside(ROUTER, "nft", "; ".join([f"add table ip {LOSSES}", chain, *rules]))
        try:
            yield
        finally:
            _inside(ROUTER, "nft", f"delete table ip {LOSSES}")

    @contextmanager
    def cut(self, one: str, other: str) -> Iterator[None]:
        """Drop all packets between two machines. Neither machine gets an error."""
        ways = [(self.address(one), self.address(other)), (self.address(other), self.address(one))]
        for source, target in ways:
            _run("ip", "-n", ROUTER, "rule", "add", "from", source, "to", target, "blackhole")
        try:
            yield
        finally:
            for source, target in ways:
                _run("ip", "-n", ROUTER, "rule", "del", "from", source, "to", target, "blackhole")


def at(name: str, *command: str) -> list[str]:
    """Return the command line that runs `command` on a machine."""
    return ["ip", "netns", "exec", name, *command]


def _join(name: str, place: int) -> None:
    outer, inner = f"to-{place}", "eth0"
    _run("ip", "netns", "add", name)
    _run("ip", "-n", ROUTER, "link", "add", outer, "type", "veth", "peer", "name", inner, "netns", name)
    _run("ip", "-n", ROUTER, "address", "add", f"10.77.{place}.1/30", "dev", outer)
    _run("ip", "-n", ROUTER, "link", "set", outer, "up")
    _run("ip", "-n", name, "address", "add", f"10.77.{place}.2/30", "dev", inner)
    for device in ("lo", inner):
        _run("ip", "-n", name, "link", "set", device, "up")
    _run("ip", "-n", name, "route", "add", "default", "via", f"10.77.{place}.1")


def _is_bent(name: str) -> bool:
    """Add delay and packet loss to a machine's link. Returns False if the kernel has no netem."""
    bend = ("tc", "qdisc", "add", "dev", "eth0", "root", "netem", *LINK)
    return subprocess.run(at(name, *bend), capture_output=True, check=False).returncode == 0


def _move_to(name: str) -> None:
    """Move this process, and processes that it starts later, to a machine."""
    with (NAMED / name).open() as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _NETWORK):
            raise OSError(ctypes.get_errno(), f"cannot enter the namespace {name}")


def _inside(name: str, *command: str) -> None:
    _run(*at(name, *command))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{_words(command)}: {done.stderr.strip() or f'status {done.returncode}'}")


def _words(command: Sequence[str]) -> str:
    return " ".join(command)
