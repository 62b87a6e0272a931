"""Serves the page of --ui on this machine, to whoever has its address and to no page of another site."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, cast

from chatkey_e2e.gettoken.ui.desk import Desk, Refused

FOLDER: Final = Path(__file__).parent
LOOPBACK: Final = "127.0.0.1"
LARGEST: Final = 1_000_000
JSON: Final = "application/json"


class UiServer(ThreadingHTTPServer):
    """A server whose every address begins with a key that nobody can guess."""

    daemon_threads = True

    def __init__(self, desk: Desk) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.desk = desk
        self.key = secrets.token_urlsafe(24)
        self.origin = f"http://{LOOPBACK}:{self.server_address[1]}"
        self.page, self.policy = _page()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"{self.origin}/{self.key}/"


class _Handler(BaseHTTPRequestHandler):
    """Answers the page's own calls, and nobody else's."""

    protocol_version = "HTTP/1.1"
    server_version = "chatkey-check"
    sys_version = ""

    @property
    def ui(self) -> UiServer:
        """The server, with what it serves."""
        return cast("UiServer", self.server)

    def do_GET(self) -> None:
        """Answer with the page, or with what it shows."""
        place = self._place()
        if place == "":
            self._answer(200, "text/html; charset=utf-8", self.ui.page)
        elif place == "state":
            self._told(self.ui.desk.state)
        else:
            self._told(None)

    def do_POST(self) -> None:
        """Do what the page asks for."""
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > LARGEST:
            self.close_connection = True
            self._json(413, {"error": "That is too much."})
            return
        body, place = self.rfile.read(int(size)), self._place()
        if self.headers.get("Origin") != self.ui.origin or self.headers.get_content_type() != JSON:
            place = None
        asked = _object(body)
        desk = self.ui.desk
        acts: dict[str | None, Callable[[], Any]] = {
            "send": lambda: desk.send(asked or {}),
            "run": desk.run,
            "token": lambda: desk.explain(str((asked or {}).get("token", ""))),
        }
        self._told(acts.get(place) if asked is not None else None)

    def _place(self) -> str | None:
        """Return what stands behind the key, or None where the key or the name of this machine is another."""
        _, key, *rest = f"{self.path}/".split("/", 2) if self.path.count("/") > 1 else ("", "", "")
        here = f"http://{self.headers.get('Host', '')}" == self.ui.origin
        right = hmac.compare_digest(key.encode(), self.ui.key.encode())
        return rest[0].rstrip("/") if here and right else None

    def _told(self, act: Callable[[], Any] | None) -> None:
        if act is None:
            self._json(404, {"error": "There is nothing here."})
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
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing: the address holds the key."""


def _object(body: bytes) -> dict[str, Any] | None:
    """Return the JSON object that was sent, or None for what is none."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _page() -> tuple[bytes, str]:
    """Return the page, and the policy that allows its own style and script."""
    html, style, script = ((FOLDER / name).read_text("utf-8") for name in ("page.html", "page.css", "page.js"))
    sources = "; ".join(f"{kind}-src {_hash(text)}" for kind, text in (("style", style), ("script", script)))
    policy = f"default-src 'none'; {sources}; connect-src 'self'; base-uri 'none'; form-action 'none'"
    page = html.replace("/* STYLE */", style).replace("/* SCRIPT */", script)
    return page.encode(), f"{policy}; frame-ancestors 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
