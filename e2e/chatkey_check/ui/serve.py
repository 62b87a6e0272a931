"""Serves the page of --ui on this machine. The server answers only at a secret address, and refuses other sites."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from chatkey_check.ui.desk import Again, Desk, Refused

FOLDER: Final = Path(__file__).parent
LOOPBACK: Final = "127.0.0.1"
LARGEST: Final = 1_000_000
CHUNK: Final = 65_536
LINGER_SECONDS: Final = 2.0
SIZE: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
JSON: Final = "application/json"
NOT_HERE: Final = {501: 405, 505: 400}
"""Replaces two server errors of http.server with client errors: the page uses no such method or HTTP version."""


class Pasted(msgspec.Struct):
    token: str


class Nothing(msgspec.Struct): ...


Asked = TypeVar("Asked", bound=msgspec.Struct)


class UiServer(ThreadingHTTPServer):
    """A server whose addresses all begin with a secret key."""

    daemon_threads = True

    def __init__(self, desk: Desk) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.desk = desk
        self.key = secrets.token_urlsafe(24)
        self.origin = f"http://{LOOPBACK}:{self.server_address[1]}"
        self.page, self.policy = _page()

    @property
    def url(self) -> str:
        return f"{self.origin}/{self.key}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Print an error of the server's code. Ignore a connection that the browser closed."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """Answers the calls of the --ui page, and refuses all other calls."""

    protocol_version = "HTTP/1.1"
    server_version = "chatkey-check"
    sys_version = ""
    timeout = 20

    @property
    def ui(self) -> UiServer:
        return cast("UiServer", self.server)

    def do_GET(self) -> None:
        """Answer with the page or with the data of the page."""
        place = self._place()
        if place == "":
            self._answer(200, "text/html; charset=utf-8", self.ui.page)
        elif place == "state":
            self._told(self.ui.desk.state)
        elif place == "progress":
            self._told(self.ui.desk.progress)
        else:
            self._told(None)

    def do_POST(self) -> None:
        """Carry out an action of the page."""
        body = self._body()
        if body is None:
            return
        place, desk = self._place(), self.ui.desk
        if self.headers.get("Origin") != self.ui.origin or self.headers.get_content_type() != JSON:
            place = None
        acts: dict[str | None, Callable[[], Any]] = {
            "send": lambda: desk.send(_read(body, Again)),
            "run": lambda: _read(body, Nothing) and desk.run(),
            "token": lambda: desk.explain(_read(body, Pasted).token),
        }
        self._told(acts.get(place))

    def _body(self) -> bytes | None:
        """Return the body, or None if the body was refused.

        Exactly one Content-Length is required, and it must not exceed `LARGEST`.
        """
        sizes, is_chunked = self.headers.get_all("Content-Length", []), "Transfer-Encoding" in self.headers
        if is_chunked or len(sizes) != 1 or not SIZE.fullmatch(sizes[0]):
            self.send_error(411, "Send exactly one Content-Length, in digits, and no Transfer-Encoding.")
            return None
        if int(sizes[0]) > LARGEST:
            self.send_error(413, f"A body may have at most {LARGEST:,} bytes.")
            return None
        try:
            return self.rfile.read(int(sizes[0]))
        except TimeoutError:
            self.send_error(408, f"The body did not arrive within {self.timeout} seconds.")
            return None

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Send an error of http.server in JSON, like all other errors, and close the connection."""
        self.close_connection = True
        self.request_version = self.protocol_version
        status = NOT_HERE.get(code, code)
        self._json(status, {"error": message or HTTPStatus(status).description})
        self._let_it_arrive()

    def _let_it_arrive(self) -> None:
        """Read the rest of what the client is sending, up to a limit.

        Closing a connection with unread bytes would reset the connection (RFC 9112 9.6), and the client might lose the
        answer.
        """
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER_SECONDS)
            for _ in range(LARGEST // CHUNK):
                if not self.connection.recv(CHUNK):
                    return

    def _place(self) -> str | None:
        """Return the path after the key, or None if the key or the Host header is wrong."""
        _, key, *rest = f"{self.path}/".split("/", 2) if self.path.count("/") > 1 else ("", "", "")
        here = f"http://{self.headers.get('Host', '')}" == self.ui.origin
        right = hmac.compare_digest(key.encode(), self.ui.key.encode())
        return rest[0].rstrip("/") if here and right else None

    def _told(self, act: Callable[[], Any] | None) -> None:
        if act is None:
            self._json(404, {"error": "Not found."})
            return
        try:
            self._json(200, act())
        except Refused as refused:
            self._json(400, {"error": str(refused)})

    def _json(self, status: int, value: object) -> None:
        self._answer(status, JSON, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", self.ui.policy),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Log nothing, because the address contains the secret key."""


def _read(body: bytes, kind: type[Asked]) -> Asked:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(f"The body is not the expected JSON: {error}.") from error


def _page() -> tuple[bytes, str]:
    """Return the page, and a Content-Security-Policy that allows only the page's own style and script."""
    html, style, script = ((FOLDER / name).read_text("utf-8") for name in ("page.html", "page.css", "page.js"))
    sources = "; ".join(f"{kind}-src {_hash(text)}" for kind, text in (("style", style), ("script", script)))
    policy = f"default-src 'none'; {sources}; connect-src 'self'; base-uri 'none'; form-action 'none'"
    page = html.replace("/* STYLE */", style).replace("/* SCRIPT */", script)
    return page.encode(), f"{policy}; frame-ancestors 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
