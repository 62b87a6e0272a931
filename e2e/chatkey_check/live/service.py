"""The service at the end of a run: one that runs, or the reference server, started for the run."""

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
from chatkey_check.wire.http import HttpWire, Unreachable
from chatkey_protocol.names import CONFIG_PATH, SOCKET_PATH

REFERENCE: Final = "the reference server"
INSTALL: Final = "pip install 'chatkey[server]'"


def sdk_of(url: str) -> str:
    """Return where a service has the script of its widget, unless one is told otherwise."""
    return f"{url}/assets/sdk.js"


def named(url: str, sdk_url: str | None, provider_id: str, wire: HttpWire) -> Service:
    """Return the service of --service-url, as its configuration describes it. Raises `Unusable`."""
    address = url + CONFIG_PATH.format(id=provider_id)
    try:
        wire.reach(url)
        answer = wire.send(Request("the service's configuration", "GET", address))
    except Unreachable as error:
        raise Unusable(f"{url} cannot be reached ({error}).") from error
    if answer.status != 200:
        raise Unusable(f"{address} answers {answer.status or answer.broken}.", answer)
    uri = _socket_uri(answer.text)
    if uri is None:
        raise Unusable(f"{address} names no socket_uri.", answer)
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
    """The reference server as a process of this run."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._url: Future[str] | None = None
        self._process = ExitStack()

    @cached_property
    def installed(self) -> bool:
        """Whether it is here: it is an extra of chatkey's."""
        return find_spec("piccolo") is not None

    def begin(self) -> Future[str]:
        """Start it in the background, once, and return its address to come: that takes a second or two."""
        if self._url is None:
            self._url = self._thread.submit(self._start)
        return self._url

    def service(self, provider_id: str, secret: str) -> Service:
        """Return it with a provider of this id and secret. Raises `Skipped` where that cannot be."""
        if not self.installed:
            raise Skipped(f"{REFERENCE} is not installed here", INSTALL)
        from chatkey_oauth.client import LabError  # noqa: PLC0415
        from chatkey_stack.lab import ServiceLab  # noqa: PLC0415 - only a run that gets here needs it

        url = self.begin().result()
        with closing(ServiceLab(url, None)) as lab:
            try:
                lab.add_provider(domains=[], id=provider_id, secret_key=secret)
            except LabError as refused:
                reason = str(refused).partition(": ")[2]
                raise Skipped(f"{REFERENCE} takes no provider like this: {reason}") from None
        return Service(REFERENCE, url, url.replace("http", "ws", 1) + SOCKET_PATH, own=True, sdk_url=sdk_of(url))

    def close(self) -> None:
        """End it; one that is just starting is waited for. Why one did not start was told whoever asked for it."""
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
        command = (sys.executable, "-m", "chatkey_server", "serve")
        self._process.enter_context(Process(REFERENCE, command, environ=environ, log=folder / "output.log"))
        return url
