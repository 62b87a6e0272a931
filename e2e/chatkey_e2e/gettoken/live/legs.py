"""What the end of a run connects to: a service that runs, or the reference server, started for the run."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.exchange import Exchange, Request
from chatkey_e2e.gettoken.model import Skipped
from chatkey_e2e.gettoken.wire.http import HttpWire, Unreachable
from chatkey_protocol.names import CONFIG_PATH, SOCKET_PATH

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from chatkey_e2e.gettoken.calls.shared import Calls
    from chatkey_e2e.gettoken.live.browser.visit import Visit
    from chatkey_e2e.wire import Key, Outcome

WAYS: Final = "--secret-env NAME, or --service-url URL"
REFERENCE: Final = "the reference server"


class Unusable(Exception):
    """The service or the page cannot be used; the message says why, and `about` are the answers that show it."""

    def __init__(self, message: str, *about: Exchange) -> None:
        super().__init__(message)
        self.about = about


@dataclass(frozen=True, slots=True)
class Service:
    """A chat service: what messages call it, its base address, its socket, and whether it was started for this run."""

    name: str
    url: str
    socket_uri: str
    own: bool


class Live:
    """The service and a key. What is started ends with the calls."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._ending = ExitStack()
        calls.ending.callback(self._close)

    def warm_up(self) -> None:
        """Start the browser, if there will be use for it: now, when time has to pass anyway."""
        if self._calls.target.live and self._calls.target.live.browser:
            _ = self.browser

    def begin(self) -> None:
        """Start the reference server in the background, if there will be use for it: it takes a second or two."""
        target = self._calls.target
        known = "service" in vars(self)
        if target.live and target.live.service_url is None and target.secret is not None and not known:
            _ = self._starting

    @cached_property
    def service(self) -> Service:
        """The service, ready. Raises `Skipped` where there can be none, `Unusable` where the one named is no help."""
        target = self._calls.target
        if target.live is None:
            raise Skipped("no service is started", "--socket")
        if target.live.service_url is not None:
            return self._named(target.live.service_url)
        if target.secret is None:
            raise Skipped("it takes a service that can verify the token", WAYS)
        return self._own(target.secret)

    @cached_property
    def key(self) -> Key:
        """A key such as browsers make."""
        from chatkey_e2e.wire import Key  # noqa: PLC0415 - cryptography is not needed before

        return Key()

    @cached_property
    def answer(self) -> Exchange:
        """The honest call of a browser that holds the key."""
        return self._calls.ask("the call for a key made here", self._calls.member, jkt=self.key.jkt)

    def connect(self, key: Key) -> Outcome:
        """Open a socket with the token of `answer` and a proof by a key. Raises `Unusable` if none can be opened."""
        from chatkey_e2e.gettoken.live import sockets as live_socket  # noqa: PLC0415

        return live_socket.connected(
            self._wire,
            self.service.socket_uri,
            page=self._calls.target.page,
            token=self.answer.token or "",
            key=key,
        )

    @cached_property
    def visit(self) -> Visit:
        """A visit to the page with a widget on it. Raises `Skipped` without --browser, `Unusable` without a page."""
        live = self._calls.target.live
        if live is None or not live.browser:
            raise Skipped("it takes a browser", "--browser")
        return self._visited()

    def _visited(self) -> Visit:
        from chatkey_e2e.gettoken.live.browser.visit import Visit  # noqa: PLC0415 - Playwright is not needed before

        visit = Visit(self._calls, self.service, self.browser)
        visit.open()
        return visit

    @cached_property
    def browser(self) -> Browser:
        """The browser, started."""
        from chatkey_e2e.gettoken.live.browser import launch as browser_launch  # noqa: PLC0415

        return browser_launch.launched(self._calls.target, self._wire, self._ending)

    @cached_property
    def _wire(self) -> HttpWire:
        """What reaches the service: as the endpoint is reached, with the same trust."""
        wire = HttpWire(self._calls.target)
        self._ending.callback(wire.close)
        return wire

    @property
    def _provider(self) -> str:
        return self._calls.target.provider_id or str(self._calls.claims.get("pid"))

    def _named(self, url: str) -> Service:
        address = url + CONFIG_PATH.format(id=self._provider)
        try:
            self._wire.reach(url)
            answer = self._wire.send(Request("the service's configuration", "GET", address))
        except Unreachable as error:
            raise Unusable(f"{url} cannot be reached ({error}).") from error
        if answer.status != 200:
            raise Unusable(f"{address} answers {answer.status or answer.broken}.", answer)
        uri = _socket_uri(answer.text)
        if uri is None:
            raise Unusable(f"{address} names no socket_uri.", answer)
        return Service(url, url, uri, own=False)

    def _own(self, secret: str) -> Service:
        from chatkey_demo.stack.lab import ServiceLab  # noqa: PLC0415 - only a run that gets here needs it
        from chatkey_oauth.client import LabError  # noqa: PLC0415

        url = self._starting.result()
        with closing(ServiceLab(url, None)) as lab:
            try:
                lab.add_provider(domains=[], id=self._provider, secret_key=secret)
            except LabError as refused:
                reason = str(refused).partition(": ")[2]
                raise Skipped(f"{REFERENCE} takes no provider like this: {reason}") from None
        return Service(REFERENCE, url, url.replace("http", "ws", 1) + SOCKET_PATH, own=True)

    @cached_property
    def _starting(self) -> Future[str]:
        executor = ThreadPoolExecutor(1)
        self._ending.callback(executor.shutdown)
        return executor.submit(self._start)

    def _start(self) -> str:
        from chatkey_demo.stack.ports import LOOPBACK, free_ports  # noqa: PLC0415
        from chatkey_demo.stack.process import Process  # noqa: PLC0415

        folder = Path(self._ending.enter_context(TemporaryDirectory(prefix="chatkey-check-")))
        (port,) = free_ports(1)
        url = f"http://{LOOPBACK}:{port}"
        settings = {"BASE_URL": url, "HOST": LOOPBACK, "PORT": str(port), "DATA_DIR": str(folder / "data"), "LAB": "1"}
        environ = {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
        environ |= {f"CHATKEY_{name}": value for name, value in settings.items()}
        command = (sys.executable, "-m", "chatkey_server", "serve")
        self._ending.enter_context(Process(REFERENCE, command, environ=environ, log=folder / "output.log"))
        return url

    def _close(self) -> None:
        if "_starting" in self.__dict__:
            self._starting.exception()  # wait for it; whoever needed it has been told
        self._ending.close()


def _socket_uri(text: str) -> str | None:
    try:
        value = reading.browser_json(text)
    except reading.Unreadable:
        return None
    data = value.get("data") if isinstance(value, dict) else None
    uri = data.get("socket_uri") if isinstance(data, dict) else None
    return uri if isinstance(uri, str) else None
