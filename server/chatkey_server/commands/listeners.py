"""The sockets on which a server listens: one, or one for each of several workers on the same port."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from chatkey_server.settings import Settings

BACKLOG: Final = 2048


def listen(settings: Settings) -> socket.socket:
    """Listen as the settings say; tells people why it cannot be."""
    return _open(settings, shared=False)


def listeners(settings: Settings, count: int) -> list[socket.socket]:
    """Listen with so many sockets on the same port, among which the system shares out who connects."""
    _open(settings, shared=False).close()  # or somebody else's server that shares its port, too, would not be noticed
    return [_open(settings, shared=True) for _ in range(count)]


def _open(settings: Settings, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG, reuse_port=shared)
    except (OSError, UnicodeError) as error:
        raise click.ClickException(_why_not(error, settings)) from error


def _why_not(error: OSError | UnicodeError, settings: Settings) -> str:
    if isinstance(error, UnicodeError):
        return "--host or CHATKEY_HOST is no name of a host. Set it to an address of this machine."
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {settings.port} on {settings.host} is in use. Stop what uses it, "
            "or choose another with --port or CHATKEY_PORT."
        )
    if error.errno == errno.EACCES:
        return (
            f"Port {settings.port} may not be opened by this user. Choose one above 1023 with --port or CHATKEY_PORT."
        )
    # `strerror` of a socket's error has the address in it
    reason = "no such name" if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
    return f"Cannot listen: {reason}. Set --host or CHATKEY_HOST to an address of this machine."
