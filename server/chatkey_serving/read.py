"""The versions of uvicorn whose source was read, and all of uvicorn's names that this package uses.

Most of these names are undocumented. A newer uvicorn may be installed: `check` then looks for the names when a server
starts. After reading the changes in the modules below, raise `UNREAD`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import textwrap
from collections.abc import Mapping
from typing import Final

import click
import uvicorn

UNREAD: Final = (0, 55)
"""The first version whose source was not read."""

LEANS_ON: Final[Mapping[str, tuple[str, ...]]] = {
    "uvicorn._types": ("ASGI3Application", "ASGIReceiveEvent", "ASGISendEvent", "WebSocketAcceptEvent"),
    "uvicorn.server.Server": ("config", "server_state", "servers", "shutdown", "started", "startup"),
    "uvicorn.server.ServerState": ("connections",),
    "uvicorn.protocols.http.httptools_impl": ("STATUS_LINE",),
    "uvicorn.protocols.http.httptools_impl.HttpToolsProtocol": (
        "_start_asgi_task",
        "client",
        "connection_lost",
        "connection_made",
        "cycle",
        "data_received",
        "handle_websocket_upgrade",
        "headers",
        "loop",
        "on_headers_complete",
        "on_message_begin",
        "on_message_complete",
        "on_response_complete",
        "parser",
        "pause_writing",
        "pipeline",
        "resume_writing",
        "scope",
        "send_400_response",
        "shutdown",
        "transport",
        "url",
    ),
    "uvicorn.protocols.http.httptools_impl.RequestResponseCycle": (
        "disconnected",
        "receive",
        "response_complete",
        "transport",
    ),
    "uvicorn.protocols.websockets.websockets_sansio_impl.WebSocketsSansIOProtocol": (
        "app_state",
        "client",
        "close_sent",
        "close_timeout",
        "close_timer",
        "config",
        "conn",
        "connection_lost",
        "data_received",
        "default_headers",
        "disconnected",
        "frames",
        "handle_cont",
        "handle_parser_exception",
        "handle_ping",
        "handle_pong",
        "handshake_complete",
        "handshake_initiated",
        "keepalive_timeout",
        "logger",
        "loop",
        "on_task_complete",
        "pause_writing",
        "queue",
        "read_paused",
        "receive",
        "resume_writing",
        "root_path",
        "run_asgi",
        "scheme",
        "scope",
        "send",
        "send_receive_event_to_app",
        "server",
        "shutdown",
        "start_keepalive",
        "tasks",
        "transport",
    ),
    "websockets.protocol": ("State",),
    "websockets.server.ServerProtocol": ("close_sent", "data_to_send", "fail", "parse", "reader", "writes"),
    "websockets.streams.StreamReader": ("at_eof", "buffer", "read_exact"),
    "websockets.utils": ("accept_key",),
}
"""Classes and modules, and the names of each that this package reads, calls or overrides."""


class UnsuitableUvicornError(click.ClickException):
    """This uvicorn lacks names on which the limits and timeouts of connections depend."""


def check(version: str = uvicorn.__version__) -> None:
    """Check that a version of uvicorn that we have not read still has the names on which our limits depend."""
    if tuple(map(int, version.split(".")[:2])) < UNREAD:
        return
    missing = [f"{owner}.{name}" for owner, names in LEANS_ON.items() for name in sorted(set(names) - members(owner))]
    unread = ".".join(map(str, UNREAD))
    if missing:
        raise UnsuitableUvicornError(
            f"uvicorn {version} lacks {', '.join(missing)}, which chatkey needs to limit connections; "
            f"install a uvicorn older than {unread}"
        )
    logging.getLogger("uvicorn.error").warning(
        "uvicorn %s is newer than the versions that chatkey was tested with (older than %s)", version, unread
    )


def members(owner: str) -> set[str]:
    """Return the names in a module, or in a class and its bases. Attributes that methods set are included."""
    try:
        return set(dir(importlib.import_module(owner)))
    except ModuleNotFoundError:
        module, _, name = owner.rpartition(".")
    try:
        cls = getattr(importlib.import_module(module), name)
    except (ModuleNotFoundError, AttributeError):
        return set()
    ours = [each for each in cls.__mro__ if each.__module__.partition(".")[0] in {"uvicorn", "websockets"}]
    trees = [ast.parse(textwrap.dedent(inspect.getsource(each))) for each in ours]
    return set(dir(cls)) | {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
