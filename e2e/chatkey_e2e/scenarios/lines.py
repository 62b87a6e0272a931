"""Bad connections between browser and service: dead, slow, or intercepted by a captive portal."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import BrowserContext, Page

from chatkey_e2e.clocks import LOOK_MS
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance
from chatkey_stack.lab import ServiceLab
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.tls import Certificates

PORTAL = "<!doctype html><title>Free Wi-Fi</title><p>Please accept our terms.</p>"
ANY_ORIGIN = {"Access-Control-Allow-Origin": "*"}

AHEAD = 2
"""Seconds; shorter than any timeout for an answer."""

SLOW = """(() => {
  const { WebSocket } = window;
  window.delayed = 0;
  const later = (act) => {
    window.delayed += 1;
    window.due = Date.now() + 3000;
    setTimeout(act, 3000);
  };
  window.WebSocket = class extends WebSocket {
    send(data) {
      later(() => super.send(data));
    }
    addEventListener(type, listener) {
      super.addEventListener(type, type === "message" ? (event) => later(() => listener(event)) : listener);
    }
  };
})()"""
"""A script that delays every frame by three seconds of the page's clock.

`delayed` counts the frames; the last one is sent or received at `due`.
"""


def wait_out(widget: WidgetPage, advance: Advance, timer: str = "reconnect") -> None:
    """Move the clock exactly to the widget's next attempt. A longer step would also let that attempt time out."""
    advance(widget.debug()["timers"].get(timer, 0))


def wait_for_hit(page: Page, lab: ServiceLab) -> None:
    """Wait until the only armed fault has been triggered."""
    wait_until(page, lambda: lab.armed()[0]["hits"], "the fault to be met")


def wait_until(page: Page, holds: Callable[[], object], what: str) -> None:
    """Wait for a condition outside the page. Raises an `AssertionError` that contains `what`."""
    for _look in range(int(PATIENCE * 1000 / LOOK_MS)):
        if holds():
            return
        page.wait_for_timeout(LOOK_MS)
    raise AssertionError(f"waited in vain for {what}")


def stop_clocks(context: BrowserContext) -> None:
    """Stop the clocks of all pages, so that pages wait only for answers. The scenario must already control the clocks.

    The clocks stop slightly in the future, because a page cannot go back to a time that has passed.
    """
    context.clock.pause_at(max(page.evaluate("() => Date.now()") for page in context.pages) / 1000 + AHEAD)


CUTTABLE = """(() => {
  const { WebSocket } = window;
  window.cuts = 0;
  window.WebSocket = class extends WebSocket {
    laid = window.cuts;
    get isCut() {
      return this.laid !== window.cuts;
    }
    send(data) {
      if (!this.isCut) super.send(data);
    }
    addEventListener(type, listener) {
      super.addEventListener(type, (event) => this.isCut || listener(event));
    }
  };
})()"""
"""A script that drops all frames and events of the sockets that were open when `cuts` last grew, even their close."""


class Line:
    """The connection between a browser context's sockets and the service."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        context.add_init_script(CUTTABLE)

    def cut(self) -> None:
        """From now on, drop all traffic of the open sockets without an error at either end."""
        for page in self._context.pages:
            page.evaluate("() => { window.cuts += 1; }")


class _Portal(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PORTAL)))
        self.end_headers()
        self.wfile.write(PORTAL.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the base class's)
        ...


@contextmanager
def portal(certificates: Certificates) -> Iterator[str]:
    """Answer every request, even a WebSocket handshake, with an HTML page. Yields the address for a socket."""
    server = ThreadingHTTPServer((LOOPBACK, 0), _Portal)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates.chain, certificates.key)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, name="portal")
    thread.start()
    try:
        yield f"wss://chat.localhost:{server.server_port}/v1/socket"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
