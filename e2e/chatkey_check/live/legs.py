"""The live part of a run: a socket to a service, and a widget in a browser."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from chatkey_check.calls.memo import Memo, once
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.live.service import INSTALL, ReferenceServer, named
from chatkey_check.model import Service, Skipped
from chatkey_check.wire.http import HttpWire

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from chatkey_check.live.browser.visit import Visit
    from chatkey_peer.key import BrowserKey
    from chatkey_peer.peer import Outcome

WAYS: Final = "--secret-env NAME, or --service-url URL"


@dataclass(frozen=True, eq=False)
class Live:
    """The service, the socket and the browser of a run.

    Each starts when it is first needed. `close` stops all of them.
    """

    calls: Calls
    reference: ReferenceServer = field(default_factory=ReferenceServer)
    ending: ExitStack = field(default_factory=ExitStack)
    memo: Memo = field(default_factory=Memo)

    @once
    def service(self) -> Service:
        """The running service. Raises `Skipped` if there is no service, and `Unusable` if the service does not work."""
        target = self.calls.target
        if target.live is None:
            raise Skipped("no chat service was started (--no-socket)", "--socket")
        if target.live.service_url is not None:
            return self.named(target.live.service_url, target.live.sdk_url)
        if target.secret is not None:
            return self.own(target.secret)
        raise Skipped("a chat service that can verify the token is needed", WAYS)

    @once
    def key(self) -> BrowserKey:
        """A key like those that browsers create."""
        from chatkey_peer.key import BrowserKey  # noqa: PLC0415 - cryptography is not needed before

        return BrowserKey()

    @once
    def answer(self) -> Exchange:
        """The normal call of a browser with `key`."""
        return self.calls.ask("the call with a new key's fingerprint", self.calls.member, jkt=self.key.jkt)

    def connect(self, key: BrowserKey) -> Outcome:
        """Open a socket with the token of `answer` and a proof signed with the key. Raises `Unusable`."""
        if find_spec("websockets") is None:
            raise Skipped("websockets is not installed", INSTALL)
        from chatkey_check.live import sockets  # noqa: PLC0415

        uri, page = self.service.socket_uri, self.calls.target.page
        return sockets.connected(self.wire, uri, page=page, token=self.answer.token or "", key=key)

    @once
    def visit(self) -> Visit:
        """The visit to the page with the widget.

        Raises `Skipped` without --browser, and `Unusable` if the page cannot be shown.
        """
        wanted = self.calls.target.live
        if wanted is None or not wanted.browser:
            raise Skipped("a browser is needed", "--browser")
        return self.visited(self.service)

    @once
    def wire(self) -> HttpWire:
        """The HTTP client for the service, with the addresses and certificates that are used for the endpoint."""
        return HttpWire(self.calls.target)

    @once
    def browser(self) -> Browser:
        from chatkey_check.live.browser import launch  # noqa: PLC0415

        return launch.launched(self.calls.target, self.wire, self.ending)

    def close(self) -> None:
        with ExitStack() as last:
            last.callback(self.reference.close)
            last.callback(self.wire.close)
            self.ending.close()

    def named(self, url: str, sdk_url: str | None) -> Service:
        """Return the service at an address. Raises `Unusable`."""
        return named(url, sdk_url, self.calls.provider_id, self.wire)

    def own(self, secret: str) -> Service:
        """Return the service of the reference server. Raises `Skipped`."""
        return self.reference.service(self.calls.provider_id, secret)

    def visited(self, service: Service) -> Visit:
        from chatkey_check.live.browser.visit import Visit  # noqa: PLC0415 - Playwright is not needed before

        visit = Visit(self.calls, service, self.browser)
        self.ending.callback(visit.close)
        visit.open()
        return visit
