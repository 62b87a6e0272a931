"""Runs several server processes on one port, restarts each process that dies, and stops all processes together."""

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
"""If a worker lived for less than this, the failure is probably in its start."""
AGAIN_SECONDS: Final = 1.0
MOST_SHORT: Final = 5
"""After this many short lives of one worker in a row, all workers are stopped, so that the service manager notices."""

log = structlog.get_logger("chatkey.workers")


def check_workers(settings: Settings) -> None:
    """Raise `SettingsError` if the settings do not allow several workers."""
    if not settings.database_url.startswith("postgres"):
        raise SettingsError(
            "CHATKEY_DATABASE_URL is not a PostgreSQL database, which several workers need; set it to "
            "postgresql://user:password@host/database, or omit --workers"
        )
    if not settings.redis_url:
        raise SettingsError(
            "CHATKEY_REDIS_URL is not set, so workers would not receive each other's messages; set it to "
            "redis://host:6379/0, or omit --workers"
        )
    if settings.lab:
        raise SettingsError("CHATKEY_LAB gives each process its own clock and faults; unset it, or omit --workers")


def end_with_parent() -> None:
    """Stop this process, as SIGTERM does, when the parent process has ended for any reason."""

    def wait() -> None:
        os.read(sys.stdin.fileno(), 1)  # unbuffered: Python fails at exit if a thread is in a buffered read
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


class Workers:
    """Keeps one worker running on each listener.

    The parent process keeps the listeners open while a worker restarts. Clients that connect meanwhile wait and are not
    refused.
    """

    def __init__(self, settings: Settings, listeners: Sequence[socket.socket]) -> None:
        self._base_url = settings.base_url
        self._listeners = listeners
        self._processes: dict[int, Process] = {}
        self._ready: set[int] = set()
        self._is_ending = False

    def run(self) -> int:
        """Run the workers until SIGTERM or Ctrl-C, or until a worker keeps dying. Returns the exit status."""
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
        """Restart a worker whenever it dies. Returns its final status, or 0 if the worker was asked to stop."""
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
            start_new_session=True,  # Ctrl-C reaches only this process, which then stops the workers
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
        """Read the output of a worker until the output ends. Print `ready` once all workers are ready."""
        if process.stdout is None:
            raise AssertionError("the worker was started without a pipe")
        async for line in process.stdout:
            if not line.startswith(b"ready ") or number in self._ready:
                continue
            self._ready.add(number)
            if len(self._ready) == len(self._listeners):
                click.echo(f"ready {self._base_url}")

    def _end(self) -> None:
        """Ask every worker to stop, and close the parent's copies of the listeners."""
        self._is_ending = True
        for listener in self._listeners:
            listener.close()
        for process in self._processes.values():
            with suppress(ProcessLookupError):  # it has already ended
                process.terminate()
