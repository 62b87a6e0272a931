"""Tests of connections: names under .localhost resolve to this machine. Certificates are verified as in browsers."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.check.mutants.mutant_backend import Backend
from tests.check.mutants.mutant_server import Answer, Request, Server
from tests.node import NODE

from chatkey_check import exchange
from chatkey_check.checks import load_one
from chatkey_check.exchange import Broken
from chatkey_check.model import Finding, Verdict
from chatkey_check.run import opened
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire, Unreachable
from chatkey_stack.tls import Certificates, issue

TLS_CHECK = load_one("net.tls")


class Quiet(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the signature is http.server's
        ...


class Dripping:
    """A server that sends `begin` to each client, and then one byte at a time until the block ends."""

    def __init__(self, begin: bytes) -> None:
        self._begin = begin
        self._over = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._listening.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        with suppress(OSError):  # the listening socket was closed
            while not self._over.is_set():
                self._drip(self._listening.accept()[0])

    def _drip(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client has disconnected
            connection.sendall(self._begin)
            while not self._over.wait(0.02):
                connection.sendall(b"O")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Certificates]:
    with issue(tmp_path_factory.mktemp("tls"), ("shop.localhost", "127.0.0.1")) as made:
        yield made


@pytest.fixture(scope="module")
def https_port(certificates: Certificates) -> Iterator[int]:
    """The port of an HTTPS server with a certificate for shop.localhost."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.chain, certificates.key)
    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def tls_finding(url: str, *, ca: Path | None = None, insecure: bool = False) -> Finding:
    with opened(Target(url, ca=ca, insecure_tls=insecure)) as run:
        return TLS_CHECK.judge(run)


def test_a_certificate_of_a_given_authority_is_accepted(https_port: int, certificates: Certificates) -> None:
    found = tls_finding(f"https://shop.localhost:{https_port}/", ca=certificates.ca)

    assert (found.verdict, found.message) == (Verdict.PASS, "the chain is valid")


@pytest.mark.parametrize(
    ("host", "trusted", "message"),
    [("shop.localhost", False, "self-signed certificate"), ("other.localhost", True, "Hostname mismatch")],
)
def test_a_certificate_that_browsers_refuse_is_refused_with_the_reason(
    https_port: int, certificates: Certificates, host: str, trusted: bool, message: str
) -> None:
    found = tls_finding(f"https://{host}:{https_port}/", ca=certificates.ca if trusted else None)

    assert found.verdict is Verdict.FAIL
    assert message in found.message
    assert "--ca FILE" in (found.hint or "")


def test_any_certificate_is_accepted_with_insecure(https_port: int) -> None:
    assert tls_finding(f"https://shop.localhost:{https_port}/", insecure=True).verdict is Verdict.PASS


def test_plain_http_on_an_https_port_is_reported(url: str) -> None:
    found = tls_finding(url.replace("http:", "https:"))

    assert found.verdict is Verdict.FAIL
    assert "handshake failed" in found.message


def test_calls_over_tls_send_the_host_name(https_port: int, certificates: Certificates) -> None:
    target = Target(f"https://shop.localhost:{https_port}/page", ca=certificates.ca)

    with opened(target) as run:
        answer = run.calls.fetch("the page", target.url, None)

    assert (answer.status, answer.text) == (200, "ok")


def test_names_below_localhost_are_this_machine_without_a_resolver(url: str) -> None:
    named = url.replace("127.0.0.1", "shop.localhost")

    assert HttpWire(Target(named)).reach(named) == "127.0.0.1"


def test_an_address_can_be_given_for_a_name(url: str) -> None:
    named = url.replace("127.0.0.1", "shop.example")

    assert HttpWire(Target(named, connect_to={"shop.example": "127.0.0.1"})).reach(named) == "127.0.0.1"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://127.0.0.1:1/", "127.0.0.1: Connection refused"),
        ("http://shop.localhost:1/", "127.0.0.1: Connection refused; ::1: "),
        ("http://name.invalid:1/", "name.invalid could not be resolved"),
    ],
)
def test_an_unreachable_address_is_reported_with_the_reason(url: str, message: str) -> None:
    with pytest.raises(Unreachable) as refused:
        HttpWire(Target(url)).reach(url)

    assert message in str(refused.value)


def test_a_server_that_does_not_answer_in_time_is_a_timeout(target: Target) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/chat/token"
        with opened(replace(target, url=url, timeout=0.05)) as run:
            answer = run.calls.first

    assert (answer.broken, answer.status) == (Broken.TIMEOUT, 0)


@pytest.mark.parametrize("tls", [True, False])
def test_a_handshake_or_an_answer_in_small_pieces_ends_at_the_timeout(target: Target, tls: bool) -> None:
    begin = b"\x16\x03\x03\x40\x00" if tls else b"HTTP/1.1 200 O"  # a TLS record whose rest never arrives
    with Dripping(begin) as port, ExitStack() as ending:
        url = f"{'https' if tls else 'http'}://127.0.0.1:{port}/chat/token"
        answer = ending.enter_context(opened(replace(target, url=url, timeout=0.3))).calls.first

    assert (answer.broken, answer.seconds < 3) == (Broken.TIMEOUT, True)


def test_a_call_goes_through_after_the_server_closed_the_kept_connection(
    endpoints: Server, target: Target, backend: Backend
) -> None:
    async def closing(request: Request) -> Answer:
        return Answer(raw=(await backend.handle(request)).wire())

    address = endpoints.add("closing", closing)
    with opened(replace(target, url=f"{address}/chat/token")) as run:
        tokens = [run.calls.first.minted, run.calls.second.minted, run.calls.anonymous.status]

    assert tokens == [True, True, 200]


def test_a_redirect_is_followed_on_the_same_origin_only(endpoints: Server, target: Target) -> None:
    async def elsewhere(request: Request) -> Answer:
        return Answer(307, [("Location", "http://evil.localhost/chat/token")])

    address = endpoints.add("elsewhere", elsewhere)
    with opened(replace(target, url=f"{address}/chat/token")) as run:
        answer = run.calls.first

    assert (answer.status, answer.hops) == (307, ())
    assert len(run.calls.record.log) == 1


def test_the_session_is_sent_to_the_sites_hosts_only(target: Target, endpoints: Server) -> None:
    seen: list[Request] = []

    async def noting(request: Request) -> Answer:
        seen.append(request)
        return Answer()

    here = f"{endpoints.add('noting', noting)}/me"
    elsewhere = here.replace("127.0.0.1", "other.localhost")
    with opened(replace(target, whoami=here, page_url=elsewhere)) as run:
        for url in (here, elsewhere):
            run.calls.fetch("me", url, run.calls.member)

    assert ["cookie" in request.headers for request in seen] == [True, False]


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Shop.Example/chat?x=1", "https://shop.example"),
        ("https://shop.example:443/", "https://shop.example"),
        ("http://shop.example:443/", "http://shop.example:443"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_origins_are_written_as_browsers_do(url: str, origin: str) -> None:
    assert exchange.origin(url) == origin


ONLY_HTTP_2 = """
const { readFileSync } = require("node:fs");
const [key, cert] = process.argv.slice(1).map((file) => readFileSync(file));
const server = require("node:http2").createSecureServer({ key, cert }, (request, response) => response.end("ok"));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"""
"""A server that refuses the handshake of a client that does not offer HTTP/2."""


def test_a_server_that_offers_only_http_2_in_the_tls_handshake_is_asked_over_http_2(certificates: Certificates) -> None:
    command = [NODE, "-e", ONLY_HTTP_2, str(certificates.key), str(certificates.chain)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"https://shop.localhost:{int(server.stdout.readline())}/"
        try:
            request = exchange.Request("", "POST", url, (("Content-Type", "application/json"),), b"{}")

            with closing(HttpWire(Target(url, ca=certificates.ca))) as wire:
                wire.shake_hands(url)
                answers = [wire.send(request), wire.send(request), *wire.send_together([request, request])]
        finally:
            server.terminate()

    assert [(answer.status, answer.text) for answer in answers] == [(200, "ok")] * 4
