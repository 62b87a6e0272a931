"""The chat service of a run: an existing service, or a reference server that is started for the run."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from chatkey_check import reading
from chatkey_check.exchange import Request
from chatkey_check.model import Service, Skipped, Unusable
from chatkey_check.target import Target
from chatkey_check.wire.http import HttpWire, Unreachable
from chatkey_protocol.names import CONFIG_PATH, SOCKET_PATH

REFERENCE: Final = "the reference server"
INSTALL: Final = "pip install 'chatkey[server]'"


def sdk_of(url: str) -> str:
    """Return the usual address of the widget script of a service."""
    return f"{url}/assets/sdk.js"


def named(url: str, sdk_url: str | None, provider_id: str, wire: HttpWire) -> Service:
    """Return the service at --service-url, after reading the service's configuration. Raises `Unusable`."""
    address = url + CONFIG_PATH.format(id=provider_id)
    try:
        wire.reach(url)
        answer = wire.send(Request("the service's configuration", "GET", address))
    except Unreachable as error:
        raise Unusable(f"{url} cannot be reached ({error}).") from error
    if answer.status != 200:
        raise Unusable(f"{address} did not answer 200: {answer.result}.", answer)
    uri = _socket_uri(answer.text)
    if uri is None:
        raise Unusable(f"{address} contains no socket_uri.", answer)
    return Service(url, url, uri, own=False, sdk_url=sdk_url or sdk_of(url))


def _socket_uri(text: str) -> str | None:
    try:
        value = reading.browser_json(text)
    except reading.Unreadable:
        return None
    data = value.get("data") if isinstance(value, dict) else None
    uri = data.get("socket_uri") if isinstance(data, dict) else None
    return uri if isinstance(uri, str) else None


class ReferenceServer:
    """The reference server, as a process of this run."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._url: Future[str] | None = None
        self._process = ExitStack()

    @cached_property
    def installed(self) -> bool:
        """Whether the reference server is installed. It is an optional extra of chatkey."""
        return all(map(find_spec, ("chatkey_server", "piccolo")))

    def expect(self, target: Target) -> None:
        """Start the server in the background if a run against this target needs it. Starting takes a second or two."""
        is_own = target.live and target.live.service_url is None and target.secret is not None
        if is_own and self.installed:
            self.begin()

    def begin(self) -> Future[str]:
        """Start the server in the background, unless it has already been started. Return a future with its address."""
        if self._url is None:
            self._url = self._thread.submit(self._start)
        return self._url

    def service(self, provider_id: str, secret: str) -> Service:
        """Add a provider with this id and secret to the server, and return the server's service. Raises `Skipped`."""
        if not self.installed:
            raise Skipped(f"{REFERENCE} is not installed", INSTALL)
        from chatkey_oauth.client import LabError  # noqa: PLC0415
        from chatkey_stack.lab import ServiceLab  # noqa: PLC0415 - only a run that gets here needs it

        url = self.begin().result()
        with closing(ServiceLab(url, None)) as lab:
            try:
                lab.add_provider(domains=[], id=provider_id, secret_key=secret)
            except LabError as refused:
                reason = str(refused).partition(": ")[2]
                raise Skipped(f"{REFERENCE} refuses this provider: {reason}") from None
        return Service(REFERENCE, url, url.replace("http", "ws", 1) + SOCKET_PATH, own=True, sdk_url=sdk_of(url))

    def close(self) -> None:
        """End the server. If the server is still starting, first wait until it has started.

        Errors of the start are not raised here, because the call that needed the server has raised them.
        """
        self._thread.shutdown()
        self._process.close()

    def _start(self) -> str:
        from chatkey_stack.ports import LOOPBACK, free_ports  # noqa: PLC0415
        from chatkey_stack.process import Process  # noqa: PLC0415

        folder = Path(self._process.enter_context(TemporaryDirectory(prefix="chatkey-check-")))
        (port,) = free_ports(1)
        url = f"http://{LOOPBACK}:{port}"
        settings = {"BASE_URL": url, "HOST": LOOPBACK, "PORT": str(port), "DATA_DIR": str(folder / "data"), "LAB": "1"}
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
        environ |= {f"CHATKEY_{name}": value for name, value in settings.items()}
        command = (sys.executable, "-m", "chatkey", "serve")
        self._process.enter_context(Process(REFERENCE, command, environ=environ, log=folder / "output.log"))
        return url
