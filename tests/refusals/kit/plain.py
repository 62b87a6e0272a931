"""Runs the service's application under plain uvicorn, with settings that uvicorn documents."""

from __future__ import annotations

import asyncio
import socket
import sys

import uvicorn

from chatkey_server import logs
from chatkey_server.app import create_app
from chatkey_server.commands.serve import _check_stores
from chatkey_server.settings import load


def main() -> None:
    settings = load()
    logs.configure(settings.log_level, lines_per_second=settings.limits.log_lines)
    asyncio.run(_check_stores(settings))
    config = uvicorn.Config(
        create_app(settings),
        ws="websockets-sansio",
        ws_max_size=settings.limits.frame_bytes,
        ws_per_message_deflate=False,
        server_header=False,
        access_log=False,
        log_config=None,
    )
    listener = socket.create_server((settings.host, settings.port), backlog=config.backlog)
    sys.stdout.write(f"ready {settings.base_url}\n")
    sys.stdout.flush()  # early callers wait until uvicorn accepts them
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
