"""The live part of a run: a socket to a service, and a widget in a browser."""

from __future__ import annotations

from contextlib import ExitStack
from threading import get_ident
from typing import TYPE_CHECKING, Final

from chatkey_check.calls.once import once
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Exchange
from chatkey_check.live.service import ReferenceServer, named
from chatkey_check.model import Service, Skipped
from chatkey_check.wire.http import HttpWire

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from chatkey_check.live.browser.visit import Visit
    from chatkey_peer.key import BrowserKey
    from chatkey_peer.wire import Outcome

WAYS: Final = "--secret-env NAME, or --service-url URL"


class Live:
    """The service, socket and browser of a run. Each is started when first needed, and `close` ends them.

    An existing service or browser may be passed in; it is used, but not closed.
    """

    def __init__(self, calls: Calls, *, service: Service | None = None, browser: Browser | None = None) -> None:
        self._calls = calls
        self._service = service
        self._browser = browser
        self._visit: Visit | None = None
        self._thread = get_ident()
        self._reference = ReferenceServer()
        self._wire = HttpWire(calls.target)  # the same addresses and certificates as for the endpoint
        self._ending = ExitStack()
        self._ending.callback(self._reference.close)
        self._ending.callback(self._wire.close)

    def token_given(self) -> None:
        """If the reference server will be needed, start it in the background. That takes a second or two."""
        target = self._calls.target
        is_own = target.live and target.live.service_url is None and self._service is None
        if is_own and target.secret is not None and self._reference.installed:
            self._reference.begin()

    def pause_ahead(self) -> None:
        """If a browser will be needed, start it now, because time has to pass anyway."""
        here = self._thread == get_ident()  # Playwright allows only the thread that started a browser to use it
        if here and self._calls.target.live and self._calls.target.live.browser:
            self._launched()

    def service(self) -> Service:
        """Return the running service. Raises `Skipped` if none is available, and `Unusable` if it does not work."""
        target = self._calls.target
        if self._service is not None:
            return self._service
        if target.live is None:
            raise Skipped("no service is started", "--socket")
        if target.live.service_url is not None:
            self._service = self._named(target.live.service_url, target.live.sdk_url)
        elif target.secret is not None:
            self._service = self._own(target.secret)
        else:
            raise Skipped("it takes a service that can verify the token", WAYS)
        return self._service

    @once
    def key(self) -> BrowserKey:
        """A key like the ones that browsers make."""
        from chatkey_peer.key import BrowserKey  # noqa: PLC0415 - cryptography is not needed before

        return BrowserKey()

    @once
    def answer(self) -> Exchange:
        """The honest call of a browser that has the key."""
        return self._calls.ask("the call for a key made here", self._calls.member, jkt=self.key.jkt)

    def connect(self, key: BrowserKey) -> Outcome:
        """Open a socket with the token of `answer` and a proof signed with the key. Raises `Unusable`."""
        from chatkey_check.live import sockets  # noqa: PLC0415

        uri, page = self.service().socket_uri, self._calls.target.page
        return sockets.connected(self._wire, uri, page=page, token=self.answer.token or "", key=key)

    def visit(self) -> Visit:
        """Return the visit to the page with the widget. The first call opens the page.

        Raises `Skipped` without --browser, and `Unusable` if the page cannot be shown.
        """
        wanted = self._calls.target.live
        if wanted is None or not wanted.browser:
            raise Skipped("it takes a browser", "--browser")
        if self._visit is None:
            self._visit = self._visited(self.service())
        return self._visit

    def close(self) -> None:
        """Close the visit, the browser and the server, if they were started."""
        self._ending.close()

    def _named(self, url: str, sdk_url: str | None) -> Service:
        return named(url, sdk_url, self._calls.provider_id, self._wire)

    def _own(self, secret: str) -> Service:
        return self._reference.service(self._calls.provider_id, secret)

    def _visited(self, service: Service) -> Visit:
        from chatkey_check.live.browser.visit import Visit  # noqa: PLC0415 - Playwright is not needed before

        visit = Visit(self._calls, service, self._launched())
        self._ending.callback(visit.close)
        visit.open()
        return visit

    def _launched(self) -> Browser:
        """Return the browser. The first call starts it."""
        from chatkey_check.live.browser import launch  # noqa: PLC0415

        if self._browser is None:
            self._browser = launch.launched(self._calls.target, self._wire, self._ending)
        return self._browser
