"""The versions of uvicorn that this package supports, and all of uvicorn's names that the package uses.

Most of these names are undocumented, so a version is allowed only after somebody has read its source. pyproject.toml
must allow the same versions as `VERSIONS`. To allow another version, read the changes in the modules below, then change
both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSIONS: Final = ">=0.54,<0.55"

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
