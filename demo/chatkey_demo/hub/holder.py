"""Finds the process that listens on a port, if the operating system reveals it."""

from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
LISTENS = "0A"


def holder_of(port: int, proc: Path = PROC) -> str | None:
    """Return `name (process 123)`, or None if the system does not reveal the process (not Linux, or another user)."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port, proc)}
    for process in proc.glob("[0-9]*"):
        if sockets & set(_open_files(process)):
            return f"{_name(process)} (process {process.name})"
    return None


def _listening(port: int, proc: Path) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on `port`."""
    for table in ("tcp", "tcp6"):
        path = proc / "net" / table
        rows = path.read_text().splitlines()[1:] if path.is_file() else []
        for row in rows:
            _, local, _, state, *others = row.split()
            if state == LISTENS and int(local.rpartition(":")[2], 16) == port:
                yield others[5]


def _open_files(process: Path) -> Iterator[str]:
    try:
        for file in (process / "fd").iterdir():
            yield str(file.readlink())
    except OSError:
        return  # the process has ended, or belongs to another user


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return "a program"
