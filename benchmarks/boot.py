"""Measures the widget's boot time, from navigation to a connected visitor over WSS, and compares it with Pyodide's own
start.

A separate server serves the pages, which are small documents. `chatkey serve` serves the files of Pyodide and of
the widget, and the socket, over TLS, in the encodings for any browser. *Cold* is the first page of a fresh browser
context. *Warm* is a page in a persistent context that has loaded the page before. The pages alternate, so that other
load on the machine affects all of them. Each ratio compares the medians. The times are measured with the page's own
clock.

The *floor* is a page that only loads and compiles the files from which the widget starts: the WebAssembly module, the
runtime's script, and the snapshot. No start from these files can be faster.

If WebKitGTK's driver is installed, the first page of a fresh WebKitGTK is measured, too.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Final

from playwright.sync_api import BrowserContext, Playwright, sync_playwright
from tests.webkit.driven import MISSING, Tab, browser, is_there, screen

from chatkey_assets import BUILT
from chatkey_server.assets.manifest import read_manifest
from chatkey_stack import browsers
from chatkey_stack.lab import ServiceLab
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process
from chatkey_stack.tls import Certificates, issue

ROUNDS: Final = 12
WEBKIT_ROUNDS: Final = 5
TARGETS: Final = {"cold": 0.25, "warm": 0.25}
PAGES: Final = ("stock", "widget", "floor")

STOCK: Final = """
<script type="module">
  import { loadPyodide } from "%(service)s/assets/%(pyodide)s/pyodide.mjs";
  await loadPyodide();
  window.arrived = performance.now();
</script>
"""
FLOOR: Final = """
<script type="module">
  const assets = "%(service)s/assets/";
  const module = WebAssembly.compileStreaming(fetch(`${assets}%(pyodide)s/pyodide.asm.wasm`));
  const runtime = import(`${assets}%(pyodide)s/pyodide.asm.mjs`);
  const snapshot = fetch(`${assets}%(snapshot)s`).then((response) => response.arrayBuffer());
  await Promise.all([module, runtime, snapshot]);
  window.arrived = performance.now();
</script>
"""
WIDGET: Final = """
<script>
  window.ServiceConfig = { providerId: "%(provider)s" };
  document.addEventListener("service:ready", () => { window.arrived = performance.now(); });
</script>
<script async src="%(service)s/assets/sdk.js"></script>
"""

Times = dict[str, list[float]]
"""Milliseconds per round, by way and page, such as `cold stock` and `warm widget`."""


def main() -> None:
    with ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory()))
        certificates = ending.enter_context(issue(folder))
        service = ending.enter_context(running_service(folder, certificates))
        pages = ending.enter_context(running_pages(documents(service, certificates), certificates))
        playwright = ending.enter_context(sync_playwright())
        times = measure(pages, playwright, folder / "profile", certificates)
        report(times, in_webkit(pages, folder / "webkit.log"))


@contextmanager
def running_service(folder: Path, certificates: Certificates) -> Iterator[str]:
    """Run `chatkey serve` over TLS and yield its address."""
    (port,) = free_ports(1)
    url = f"https://chat.localhost:{port}"
    environ = os.environ | {
        "CHATKEY_BASE_URL": url,
        "CHATKEY_PORT": str(port),
        "CHATKEY_DATA_DIR": str(folder / "data"),
        "CHATKEY_TLS_CERT": str(certificates.chain),
        "CHATKEY_TLS_KEY": str(certificates.key),
        "CHATKEY_LAB": "1",
        "PYTHONUNBUFFERED": "1",
    }
    command = (sys.executable, "-c", "from chatkey_server.commands.serve import serve; serve()")
    with Process("service", command, environ=environ, log=folder / "service.log"):
        yield url


def documents(service: str, certificates: Certificates) -> dict[str, str]:
    """Return the pages by path. The widget's page has a new provider."""
    lab = ServiceLab(service.replace("chat.localhost", LOOPBACK), certificates.ca)
    provider = lab.add_provider(domains=[]).id
    lab.close()
    built = read_manifest(BUILT)
    names = {"service": service, "pyodide": built.pyodide, "snapshot": built.snapshot, "provider": provider}
    return {"/stock": STOCK % names, "/widget": WIDGET % names, "/floor": FLOOR % names}


@contextmanager
def running_pages(pages: dict[str, str], certificates: Certificates) -> Iterator[str]:
    """Serve the pages from a separate site and yield its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            page = pages.get(self.path)
            body = f"<!doctype html><title>Boot</title><body>{page}</body>".encode() if page else b""
            self.send_response(200 if page else 404)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing, because only the figures are printed."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.chain, certificates.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"https://shop.localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def measure(pages: str, playwright: Playwright, profile: Path, certificates: Certificates) -> Times:
    """Visit the pages cold and warm, and alternate between the pages."""
    try:
        found = browsers.find(browsers.machine(playwright))
    except browsers.NoBrowserError as error:
        sys.exit(str(error))
    options = browsers.launch_options(found, trusted_spki=certificates.spki)
    browser = playwright.chromium.launch(**options)
    persistent = playwright.chromium.launch_persistent_context(profile, **options)
    for name in PAGES:
        visit(persistent, f"{pages}/{name}")
    times: Times = {f"{way} {name}": [] for way in TARGETS for name in PAGES}
    for number in range(ROUNDS):
        for name in PAGES if number % 2 else reversed(PAGES):
            with browser.new_context() as fresh:
                times[f"cold {name}"].append(visit(fresh, f"{pages}/{name}"))
            times[f"warm {name}"].append(visit(persistent, f"{pages}/{name}"))
    persistent.close()
    browser.close()
    return times


def visit(context: BrowserContext, url: str) -> float:
    """Open a page, and return the milliseconds from navigation until the page sets `window.arrived`."""
    page = context.new_page()
    page.goto(url)
    arrived: float = page.wait_for_function("() => window.arrived").json_value()
    page.close()
    return arrived


def in_webkit(pages: str, log: Path) -> Times:
    """Visit the widget's page in fresh WebKitGTK browsers, or measure nothing if its driver is not installed.

    `boot` is the part until Python runs. Ends the benchmark if the widget does not start from the snapshot.
    """
    if not is_there():
        return {}
    times: Times = {"connected": [], "boot": []}
    with screen() as display:
        for _ in range(WEBKIT_ROUNDS):
            with browser(display, log, trusting=True) as driver:
                driver.get(f"{pages}/widget")
                times["connected"].append(Tab(driver).until("return window.arrived"))
                boot = Tab(driver).debug()["boot"]
            if boot["from"] != "snapshot":
                sys.exit(f"WebKitGTK has started the widget from {boot['from']!r}, and not from the snapshot.")
            times["boot"].append(boot["milliseconds"])
    return times


def report(times: Times, webkit: Times) -> None:
    """Print the figures for people, then one line of JSON for programs."""
    ratios = {}
    for way, target in TARGETS.items():
        stock, widget, floor = (median(times[f"{way} {name}"]) for name in PAGES)
        ratios[way], ratios[f"{way}_floor"] = widget / stock, floor / stock
        verdict = "ok" if ratios[way] <= target else "too slow"
        sys.stdout.write(
            f"{way}: Pyodide alone {stock:.0f} ms, visitor connected {widget:.0f} ms, "
            f"ratio {ratios[way]:.2f} (at most {target}: {verdict}); floor {floor:.0f} ms, "
            f"ratio {ratios[f'{way}_floor']:.2f}; medians of {ROUNDS} rounds\n"
        )
    sys.stdout.write(
        f"WebKitGTK: visitor connected {median(webkit['connected']):.0f} ms, boot alone {median(webkit['boot']):.0f} "
        f"ms, from the snapshot; medians of {WEBKIT_ROUNDS} fresh browsers\n"
        if webkit
        else f"WebKitGTK: not measured. {MISSING}\n"
    )
    figures = {f"{way}_ratio": round(ratio, 3) for way, ratio in ratios.items()}
    medians = {f"{name.replace(' ', '_')}_ms": round(median(values)) for name, values in times.items()}
    medians |= {f"webkit_{name}_ms": round(median(values)) for name, values in webkit.items()}
    sys.stdout.write(json.dumps({"bench": "boot", **figures, **medians, "rounds": ROUNDS}) + "\n")


if __name__ == "__main__":
    main()
