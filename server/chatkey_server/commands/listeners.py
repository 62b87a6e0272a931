"""The listening sockets of a server: one, or one for each of several workers on the same port."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

import click

from chatkey_serving.server import BACKLOG

if TYPE_CHECKING:
    from chatkey_server.settings import Settings


def listen(settings: Settings) -> socket.socket:
    """Open the listening socket. If that fails, raises `ClickException`, which says what to change."""
    return _open(settings, shared=False)


def listeners(settings: Settings, count: int) -> list[socket.socket]:
    """Open `count` sockets on the same port. The operating system distributes new connections among them."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise click.ClickException("On Windows, processes cannot share a port. Start the server without --workers.")
    _open(settings, shared=False).close()  # fails if the port is in use; a shared socket might open even then
    return [_open(settings, shared=True) for _ in range(count)]


def _open(settings: Settings, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG, reuse_port=shared)
    except (OSError, UnicodeError) as error:
        raise click.ClickException(_why_not(error, settings)) from error


def _why_not(error: OSError | UnicodeError, settings: Settings) -> str:
    if isinstance(error, UnicodeError):
        return "--host or CHATKEY_HOST is not a host name. Set it to an address of this machine."
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {settings.port} on {settings.host} is in use. Stop the program that uses the port, or choose "
            "another port with --port or CHATKEY_PORT."
        )
    if error.errno == errno.EACCES:
        return f"This user may not open port {settings.port}. Choose a port above 1023 with --port or CHATKEY_PORT."
    # not the error's own `strerror`, because it contains the address
    reason = "the host name is unknown" if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
    return f"Cannot listen: {reason}. Set --host or CHATKEY_HOST to an address of this machine."
