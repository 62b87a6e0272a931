"""`chatkey serve`: runs the server in one process or in several (D-16)."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import ssl
import sys
import threading
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING

import click
import structlog

from chatkey_protocol.codes import Code
from chatkey_server import logs, metrics
from chatkey_server.app import create_app
from chatkey_server.assets import AssetsError
from chatkey_server.chat.hub import Link
from chatkey_server.chat.links import link_of
from chatkey_server.commands.errors import ServiceCommand
from chatkey_server.commands.listeners import listen, listeners
from chatkey_server.commands.workers import Workers, check_workers, end_with_parent
from chatkey_server.identity.errors import MEANINGS
from chatkey_server.limits.connections import Connections
from chatkey_server.settings import Limits, Settings, SettingsError, load
from chatkey_server.socket import close_all
from chatkey_server.storage import engine, migrate
from chatkey_server.storage.vault import Vault
from chatkey_serving import site as wire
from chatkey_serving.forwarded import BehindProxies
from chatkey_serving.server import Server, server_context
from chatkey_serving.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from litestar import Litestar

MOST_FILES = 10_240 if sys.platform == "darwin" else 65_536  # macOS refuses more than OPEN_MAX
GC_THRESHOLD = 20_000
"""How many new objects Python creates before it searches for reference cycles. Its default is 700."""
GRACE_SECONDS = 5
"""How many seconds running requests may take after the server is asked to stop."""
LAST_SECONDS = 9.0
"""How many seconds after the drain the process exits in any case. Container managers kill it after ten."""
THREAD_SECONDS = 1.0
"""How long the process waits for threads once the server has stopped. A thread may be waiting for a name server."""

log: structlog.typing.FilteringBoundLogger = structlog.get_logger("chatkey.socket")


@click.command(cls=ServiceCommand)
@click.option("--host", help="The address to listen on. Default: CHATKEY_HOST.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port to listen on. Default: CHATKEY_PORT.")
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="The number of processes that share the port. More than one needs PostgreSQL and Redis.",
)
@click.option("--listener", type=int, hidden=True, help="The listening socket that a worker inherits.")
def serve(host: str | None, port: int | None, workers: int, listener: int | None) -> None:
    """Run the server. Prints `ready` and its address once it accepts requests. Stops at SIGTERM or Ctrl-C."""
    settings = load(_environment(host, port))
    logs.configure(settings.log_level, lines_per_second=settings.limits.log_lines)
    if listener is not None:
        end_with_parent()
        _run(settings, socket.socket(fileno=listener))
        return
    asyncio.run(_check_stores(settings))
    if workers > 1:
        check_workers(settings)
        sys.exit(Workers(settings, listeners(settings, workers)).run())
    _note_alone(settings)
    _run(settings, listen(settings))


def _run(settings: Settings, listener: socket.socket) -> None:
    _raise_file_limit()
    try:
        app = create_app(settings)
        tls = tls_context(settings)
    except AssetsError as error:
        raise click.ClickException(str(error)) from error
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, _leave)
    metrics.STARTED.set_to_current_time()
    server = Server(
        site_of(app, settings),
        ready=partial(_ready, settings.base_url),
        leaving=partial(_close_sockets, app),
        told=partial(_go_on, app, settings.drain),
        tls=tls,
        grace=GRACE_SECONDS,
        handshake_seconds=settings.limits.request_timeout,
    )
    server.run([listener])


def _ready(base_url: str) -> None:
    """Print `ready` and the address, and set up garbage collection for a long-running process."""
    # Objects that exist now stay, and connections seldom leave cycles. Searching for cycles as often as Python does
    # by default costs a tenth of the time that it takes to open a socket.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD)
    click.echo(f"ready {base_url}")


def _note_alone(settings: Settings) -> None:
    """Warn that further processes on this database would need Redis."""
    if settings.database_url.startswith("postgres") and not settings.redis_url:
        log.warning(
            "serve.alone",
            reason=(
                "without Redis, other processes on this database would not receive the messages of this one, and "
                "would count limits separately"
            ),
            remedy="set CHATKEY_REDIS_URL if more than one process uses this database",
        )


async def _go_on(app: Litestar, drain: int) -> None:
    """Report that this process is leaving, and keep serving until load balancers have noticed."""
    _after(LAST_SECONDS + drain, _end)
    app.state.services.sockets.is_leaving = True
    await asyncio.sleep(drain / 2)


async def _close_sockets(app: Litestar) -> None:
    """Close every socket with 1012 and a reason, spread over the rest of the drain time."""
    await close_all(app.state.services, over=app.state.services.settings.drain / 2)


def _end() -> None:
    """Exit at once. No acknowledged message is lost, because messages are stored before they are acknowledged."""
    log.error("serve.cut", reason=f"the process was still running {LAST_SECONDS} s after it should have stopped")
    os._exit(1)


def _after(seconds: float, end: Callable[..., object], *arguments: object) -> None:
    timer = threading.Timer(seconds, end, arguments)
    timer.daemon = True
    timer.start()


def _environment(host: str | None, port: int | None) -> dict[str, str]:
    environ = dict(os.environ)
    if host:
        environ["CHATKEY_HOST"] = host
    if port:
        environ["CHATKEY_PORT"] = str(port)
    return environ


async def _check_stores(settings: Settings) -> None:
    """Check the database and Redis, so that a wrong setting ends the command with a one-sentence error."""
    async with engine.opened(settings.database):
        await migrate.ensure(settings)
    link = link_of(settings.redis_url, Vault.of(settings).hub_keys)
    if link is not None:
        await _check_link(link)


async def _check_link(link: Link) -> None:
    try:
        await link.announce()
    except Exception as error:
        raise SettingsError(
            f"CHATKEY_REDIS_URL (not shown): Redis cannot be reached ({type(error).__name__}); check that it "
            "runs, and check the host, port and password"
        ) from error


def _raise_file_limit() -> None:
    """Raise the limit of open files: each socket needs one, and the usual limit is 1024."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - there is none on Windows

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def site_of(app: Litestar, settings: Settings) -> Site:
    """Return what all connections of the server share."""
    limits = settings.limits
    return Site(
        app=BehindProxies(app, settings.trusted_proxies) if settings.trusted_proxies else app,
        limits=wire_limits(limits),
        door=Connections(limits.sockets_per_address, limits.ipv6_prefix, settings.trusted_proxies),
        refused=_cut_off,
        has_sockets=True,
        logs_requests=settings.log_level == "debug",
    )


def wire_limits(limits: Limits) -> wire.Limits:
    """Return the limits that apply below the application."""
    return wire.Limits(**{field.name: getattr(limits, field.name) for field in fields(wire.Limits)})


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the server's TLS context. Raises `SettingsError` if certificate and key cannot be used."""
    if not settings.tls_cert:
        return None
    try:
        return server_context(settings.tls_cert, settings.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(
            "CHATKEY_TLS_CERT and CHATKEY_TLS_KEY are not a certificate and its key "
            f"({error.strerror or type(error).__name__}); set them to two PEM files that belong together"
        ) from error


def _cut_off(code: Code) -> int:
    """Log why the WebSocket protocol disconnects a peer, and return the close code for that peer."""
    metrics.refused(code)
    log.info("socket.refused", code=code, member=None, cause=None)
    return MEANINGS[code].close


def _leave(_: int, __: FrameType | None) -> None:
    """Exit without a traceback when the server, after it has stopped, raises the signal again."""
    _after(THREAD_SECONDS, os._exit, 0)
    sys.exit(0)
