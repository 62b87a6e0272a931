"""The service under test, as one case sees it: what is asked of it is noted, as evidence."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Final, cast
from urllib.parse import urlencode, urlsplit

import httpx
from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from chatkey_conform.grades.business import Business, HarnessError
from chatkey_conform.judging.transcript import Transcript
from chatkey_conform.judging.verdict import Broken, OtherLimit
from chatkey_conform.limits import Limits
from chatkey_conform.making.honest import BrowserKey
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.peer import WAIT, Ended, Peer, Pinged
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.world import World
from chatkey_protocol.names import SUBPROTOCOL

TRIES: Final = 10
OWN_ORIGIN: Final = object()
"""As the origin of a socket: that of the shop's page."""


class Unopened(Broken):
    """The socket was refused before the upgrade, with this HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The socket was refused with HTTP {status}")
        self.status = status


class Subject:
    """The target, for one case. Ends with `close`, which takes away what the case made."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.transcript = Transcript(lambda: world.secrets)
        self._ending = ExitStack()

    @property
    def limits(self) -> Limits:
        """How much the target takes."""
        return self.world.limits

    def close(self) -> None:
        """Take away what the case made, and put the clock back."""
        self._ending.close()
        self.world.restore()

    def now(self) -> float:
        """The service's time."""
        return self.world.now()

    def needs(self, *capabilities: str) -> None:
        """Raise `NotApplicable` unless all of these are declared."""
        for capability in capabilities:
            self.world.needs(capability)

    def has(self, capability: str) -> bool:
        """Tell whether the target declares this."""
        return self.world.has(capability)

    def within(self, size: int, limit: str) -> None:
        """Raise `OtherLimit` where a size is beyond a limit of the target's own."""
        most = getattr(self.limits, limit)
        if most and size > most:
            raise OtherLimit(f"{size} is beyond the target's {limit} of {most}")

    # businesses

    def shop(self) -> Shop:
        """Return the business that cases share, with a browser and a member of this case's own."""
        return self._shop(self.world.shared(0))

    def another_shop(self) -> Shop:
        """Return another business. Raises `NotApplicable` where there is but one."""
        return self._shop(self.world.shared(1))

    def shop_with(self, **members: Any) -> Shop:
        """Make a business for this case. Raises `NotApplicable` where none can be made."""
        self.needs("businesses")
        business = self.world.make(members)
        self._ending.callback(self._remove, business)
        return self._shop(business)

    def change(self, shop: Shop, **members: Any) -> None:
        """Change a business, and wait until the service has to know."""
        self.needs("change", "clock")
        self.world.businesses.change(shop.business, members)
        self.advance(61)

    def _shop(self, business: Business) -> Shop:
        return Shop(business, get=self.get, now=self.now)

    def _remove(self, business: Business) -> None:
        with suppress(HarnessError):
            self.world.businesses.remove(business)

    # the clock

    def advance(self, seconds: float) -> None:
        """Move the service's clock; it goes back after the case."""
        self.transcript.note(f"(the clock is moved by {seconds:g} s)")
        self.world.advance(seconds)

    # over HTTP

    def get(self, path: str, **query: str) -> Answer:
        """Send GET."""
        return self.request("GET", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | str = "",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
        patient: bool = True,
    ) -> Answer:
        """Send a request; one that comes too fast for the service is sent again when it may be, if `patient`."""
        text = query if isinstance(query, str) else urlencode(query)
        target = f"{path}?{text}" if text else path
        send = partial(self._send, method, target, headers, content)
        return self.world.pace(path).keep(send) if patient else send()

    def _send(self, method: str, target: str, headers: Mapping[str, str] | None, content: bytes | None) -> Answer:
        address, asked = self.world.target.local_url + target, f"{method} {target}"
        given: Any = {"headers": dict(headers or {}), "content": content}
        try:
            try:
                got = self.world.http.request(method, address, **given)
            except CLOSED_MEANWHILE:
                self.transcript.note(asked, "the connection was closed; once more, by a new one")
                with self.world.client() as fresh:
                    got = fresh.request(method, address, **given)
        except httpx.HTTPError as error:
            self.transcript.note(asked, f"no answer: {error}")
            raise Broken(f"{method} of an endpoint was not answered: {type(error).__name__}") from None
        return self._noted(method, target, got.status_code, got.headers, got.content)

    def spelled(self, target: str, method: str = "GET") -> Answer:
        """Send a request whose target is written exactly so, below the base address."""
        base = urlsplit(self.world.target.local_url)
        host = base.hostname or ""
        connection: http.client.HTTPConnection
        if base.scheme == "https":
            connection = http.client.HTTPSConnection(host, base.port or 443, timeout=WAIT, context=self.world.trust)
        else:
            connection = http.client.HTTPConnection(host, base.port or 80, timeout=WAIT)
        try:
            connection.putrequest(method, base.path + target, skip_accept_encoding=True)
            connection.putheader("Connection", "close")
            connection.endheaders()
            got = connection.getresponse()
            body = got.read()
        except (OSError, http.client.HTTPException, ssl.SSLError) as error:
            self.transcript.note(f"{method} {target}", f"no answer: {error}")
            raise Broken(f"{method} of a path was not answered: {type(error).__name__}") from None
        finally:
            connection.close()
        return self._noted(method, target, got.status, httpx.Headers(got.getheaders()), body)

    def _noted(self, method: str, target: str, status: int, headers: httpx.Headers, body: bytes) -> Answer:
        shown = "; ".join(f"{name}: {value}" for name, value in headers.items() if name not in UNTOLD)
        text = body.decode("utf-8", "replace") if "json" in headers.get("content-type", "") else f"{len(body)} bytes"
        self.transcript.note(f"{method} {target}", f"{status} {shown} | {text}")
        path = target.partition("?")[0]
        return Answer(f"{method} {self.transcript.masked(path)}", status, headers, body)

    # over the socket

    @contextmanager
    def socket(
        self,
        *,
        origin: object = OWN_ORIGIN,
        query: str = "",
        subprotocols: tuple[str, ...] = (SUBPROTOCOL,),
        origins: int = 1,
    ) -> Iterator[Peer]:
        """Open a socket from a page of the shop's, or of another origin; None is of no page at all."""
        page = self.world.shared(0).origins[0] if origin is OWN_ORIGIN else origin
        address = self.world.socket_address + (f"?{query}" if query else "")
        pages = [("Origin", str(page))] * origins if page is not None else []
        for left in reversed(range(TRIES)):
            with (connection := self._opened(address, subprotocols, pages)):
                peer = Peer(connection, self.world.socket_uri, self.transcript, self.now, self.world.patience)
                if left and peer.hello.get("code") == "too_many_sockets":  # of this address: others are about to end
                    threading.Event().wait(1)
                    continue
                yield peer
                return

    def _opened(self, address: str, subprotocols: tuple[str, ...], headers: list[tuple[str, str]]) -> Pinged:
        self.transcript.note(f"opens {address}, {headers}")
        try:
            opened = connect(
                address,
                create_connection=Pinged,
                subprotocols=[Subprotocol(name) for name in subprotocols] or None,
                additional_headers=headers,
                ssl=self.world.trust if address.startswith("wss:") else None,
                compression=None,
                proxy=None,
                open_timeout=WAIT,
                max_size=2**24,
                ping_interval=None,
                close_timeout=2,
            )
            return cast("Pinged", opened)
        except InvalidStatus as refused:
            raise Unopened(refused.response.status_code) from None
        except (InvalidHandshake, InvalidMessage, OSError, TimeoutError) as error:
            raise Broken(f"The socket could not be opened: {type(error).__name__}") from None

    def try_token(self, token: str, key: BrowserKey) -> Ended:
        """Open a socket with this token and an honest proof by `key` over it."""
        with self.socket() as peer:
            return peer.connect(token, peer.prove(key, token))

    @contextmanager
    def joined(self, shop: Shop, token: str | None = None) -> Iterator[Peer]:
        """Open a socket and connect with an honest token, the member's unless another is given."""
        with self.socket() as peer:
            peer.join(token or shop.token(), shop.key)
            yield peer


CLOSED_MEANWHILE: Final = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""What a kept connection says that the service has closed."""
UNTOLD: Final = frozenset({"date", "server", "content-length", "connection", "transfer-encoding"})
