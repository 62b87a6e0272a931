"""Several processes on one port: each is started, watched, started again when it dies, and ended with the others."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import click
import structlog
from prometheus_client import multiprocess

from chatkey_server.metrics import FOLDER_VARIABLE
from chatkey_server.settings import SettingsError

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

    from chatkey_server.settings import Settings

SHORT_SECONDS: Final = 10.0
"""A worker that lived no longer died of its start."""
AGAIN_SECONDS: Final = 1.0
MOST_SHORT: Final = 5
"""So many short lives of one worker in a row end the whole: whoever watches over services is to know."""

log = structlog.get_logger("chatkey.workers")


def check_workers(settings: Settings) -> None:
    """Refuse several workers where they could not work together."""
    if not settings.database_url.startswith("postgres"):
        raise SettingsError(
            "CHATKEY_DATABASE_URL is not a PostgreSQL database, which several workers need; write "
            "postgresql://user:password@host/database, or leave --workers out"
        )
    if not settings.redis_url:
        raise SettingsError(
            "CHATKEY_REDIS_URL is not set, and workers would not hear of each other's messages; write "
            "redis://host:6379/0, or leave --workers out"
        )
    if settings.lab:
        raise SettingsError(
            "CHATKEY_LAB gives each process a clock and faults of its own; leave it out, or leave --workers out"
        )


def end_with_parent() -> None:
    """End, as at SIGTERM, when the process that started this one is gone, whatever became of it."""

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)  # unbuffered: Python ends badly with a thread in a buffered read
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


class Workers:
    """Keeps a worker on each listener.

    The listeners stay open here while a worker is started again, so that who connects meanwhile waits and is not
    turned away.
    """

    def __init__(self, settings: Settings, listeners: Sequence[socket.socket]) -> None:
        self._base_url = settings.base_url
        self._listeners = listeners
        self._processes: dict[int, Process] = {}
        self._ready: set[int] = set()
        self._is_ending = False

    def run(self) -> int:
        """Run them until SIGTERM or Ctrl-C, or until one dies again and again; return the exit status."""
        with TemporaryDirectory(prefix="chatkey-metrics-") as folder:
            self._folder = folder
            return asyncio.run(self._run())

    async def _run(self) -> int:
        loop = asyncio.get_running_loop()
        for stop in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(stop, self._end)
        statuses = await asyncio.gather(*(self._keep(number) for number in range(len(self._listeners))))
        return max(statuses)

    async def _keep(self, number: int) -> int:
        """Start a worker again whenever it dies; return with which status it is given up, 0 when it was told to end."""
        short_lives = 0
        while not self._is_ending:
            began = asyncio.get_running_loop().time()
            status = await self._live(number)
            if self._is_ending:
                return 0 if status in {0, -signal.SIGTERM} else 1
            lived = asyncio.get_running_loop().time() - began
            log.error("worker.died", worker=number, status=status, seconds=round(lived, 1))
            short_lives = short_lives + 1 if lived < SHORT_SECONDS else 0
            if number not in self._ready or short_lives >= MOST_SHORT:
                self._end()
                return abs(status) or 1
            await asyncio.sleep(AGAIN_SECONDS)
        return 0

    async def _live(self, number: int) -> int:
        """Start a worker and wait for its end."""
        listener = self._listeners[number].fileno()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *sys.orig_argv[1:],
            "--listener",
            str(listener),
            stdin=PIPE,
            stdout=PIPE,
            pass_fds=[listener],
            env={**os.environ, FOLDER_VARIABLE: self._folder},
            start_new_session=True,  # Ctrl-C is for this process, which tells the others
        )
        self._processes[number] = process
        if self._is_ending:
            process.terminate()
        await self._hear(number, process)
        status = await process.wait()
        del self._processes[number]
        multiprocess.mark_process_dead(process.pid, self._folder)  # type: ignore[no-untyped-call]  # it leaves it out
        return status

    async def _hear(self, number: int, process: Process) -> None:
        """Read what a worker says until its end, and say that all are ready when the last one is."""
        if process.stdout is None:
            raise AssertionError("started without a pipe")
        async for line in process.stdout:
            if not line.startswith(b"ready ") or number in self._ready:
                continue
            self._ready.add(number)
            if len(self._ready) == len(self._listeners):
                click.echo(f"ready {self._base_url}")

    def _end(self) -> None:
        """Tell every worker to end, and listen no longer but through them."""
        self._is_ending = True
        for listener in self._listeners:
            listener.close()
        for process in self._processes.values():
            with suppress(ProcessLookupError):  # it has ended by itself
                process.terminate()
