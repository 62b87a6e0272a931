"""The service under test in the form that one case uses. All requests and frames are recorded as evidence."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx
from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus

from chatkey_conform.grades.business import Business, HarnessError
from chatkey_conform.judging.transcript import Transcript
from chatkey_conform.judging.verdict import Broken, OtherLimit
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.hurry import SLOWEST, within
from chatkey_conform.subject.peer import WAIT, Ended, Peer
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.world import World
from chatkey_peer.key import BrowserKey
from chatkey_peer.wire import Wire, wire
from chatkey_protocol.limits import Limits
from chatkey_protocol.names import SUBPROTOCOL

TRIES: Final = 10
OWN_ORIGIN: Final = object()
"""As the `origin` of a socket: use the origin of the shop's page."""


class Unopened(Broken):
    """The service refused the WebSocket upgrade with this HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"The WebSocket upgrade was refused with HTTP {status}")
        self.status = status


class Subject:
    """The target for one case. `close` removes what the case created."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.transcript = Transcript(lambda: world.secrets)
        self._ending = ExitStack()

    @property
    def limits(self) -> Limits:
        return self.world.limits

    def close(self) -> None:
        """Remove what the case created, and reset the clock."""
        self._ending.close()
        self.world.restore()

    def now(self) -> float:
        return self.world.now()

    def needs(self, *capabilities: str) -> None:
        """Raise `NotApplicable` unless the target declares all of these capabilities."""
        for capability in capabilities:
            self.world.needs(capability)

    def has(self, capability: str) -> bool:
        return self.world.has(capability)

    def within(self, size: int, limit: str) -> None:
        """Raise `OtherLimit` if `size` is above this limit of the target."""
        most = getattr(self.limits, limit)
        if most and size > most:
            raise OtherLimit(f"not tested with {limit} = {most}: the case needs {size}")

    # businesses

    def shop(self) -> Shop:
        """Return the business that all cases share, with a browser key and a member for this case only."""
        return self._shop(self.world.shared(0))

    def another_shop(self) -> Shop:
        """Return a second business. Raises `NotApplicable` if the target has only one."""
        return self._shop(self.world.shared(1))

    def shop_with(self, **members: Any) -> Shop:
        """Create a business for this case. Raises `NotApplicable` if the target cannot create one."""
        self.needs("businesses")
        business = self.world.make(members)
        self._ending.callback(self._remove, business)
        return self._shop(business)

    def change(self, shop: Shop, **members: Any) -> None:
        """Change a business, and move the clock by 61 seconds. By then the service must have applied the change."""
        self.needs("change", "clock")
        self.world.businesses.change(shop.business, members)
        self.advance(61)

    def agent(self, shop: Shop, do: str, **members: str) -> Mapping[str, Any]:
        """Act as an agent in the conversation of the shop's member (docs/lab.md)."""
        seen = self.world.businesses.agent({"do": do, "id": shop.id, "uid": shop.member, **members})
        told = f"{len(seen.get('signals') or ())} signals, refused: {seen.get('refused')}"
        self.transcript.note(f"(the agent's page {members.get('page', '')}: {do})", told)
        return seen

    def _shop(self, business: Business) -> Shop:
        return Shop(business, get=self.get, now=self.now)

    def _remove(self, business: Business) -> None:
        with suppress(HarnessError):
            self.world.businesses.remove(business)

    # the clock

    def advance(self, seconds: float) -> None:
        """Move the service's clock forward. The clock is reset after the case."""
        self.transcript.note(f"(the service's clock is moved forward by {seconds:g} s)")
        self.world.advance(seconds)

    # over HTTP

    def get(self, path: str, **query: str) -> Answer:
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
        """Send a request. If `patient`, send the request again after a 429, when the service allows it."""
        text = query if isinstance(query, str) else urlencode(query)
        target = f"{path}?{text}" if text else path
        send = partial(self._send, method, target, headers, content)
        return self.world.pace(path).keep(send) if patient else send()

    def _send(self, method: str, target: str, headers: Mapping[str, str] | None, content: bytes | None) -> Answer:
        address, asked = self.world.target.local_url + target, f"{method} {target}"
        given: Any = {"headers": dict(headers or {}), "content": content}
        try:
            try:
                got = self.world.request(method, address, **given)
            except CLOSED_MEANWHILE:
                self.transcript.note(asked, "the connection was closed; sent again on a new one")
                with self.world.client() as fresh:
                    got = self.world.request(method, address, fresh, **given)
        except httpx.HTTPError as error:
            self.transcript.note(asked, f"no response: {error}")
            raise Broken(f"The {method} request got no response: {type(error).__name__}") from None
        sent = f"{asked} | {content.decode('utf-8', 'replace')}" if content else asked
        return self._noted(sent, got.status_code, got.headers, got.content)

    def spelled(self, target: str, method: str = "GET") -> Answer:
        """Send a request with exactly this target after the base address."""
        base = urlsplit(self.world.target.local_url)
        host = base.hostname or ""
        connection: http.client.HTTPConnection
        if base.scheme == "https":
            connection = http.client.HTTPSConnection(host, base.port or 443, timeout=WAIT, context=self.world.trust)
        else:
            connection = http.client.HTTPConnection(host, base.port or 80, timeout=WAIT)

        def exchange() -> tuple[http.client.HTTPResponse, bytes]:
            connection.putrequest(method, base.path + target, skip_accept_encoding=True)
            connection.putheader("Connection", "close")
            connection.endheaders()
            got = connection.getresponse()
            return got, got.read()

        try:
            got, body = within(SLOWEST, exchange)
        except (OSError, http.client.HTTPException, httpx.ReadTimeout) as error:
            self.transcript.note(f"{method} {target}", f"no response: {error}")
            raise Broken(f"The {method} request got no response: {type(error).__name__}") from None
        finally:
            connection.close()
        return self._noted(f"{method} {target}", got.status, httpx.Headers(got.getheaders()), body)

    def _noted(self, sent: str, status: int, headers: httpx.Headers, body: bytes) -> Answer:
        shown = "; ".join(f"{name}: {value}" for name, value in headers.items() if name not in UNTOLD)
        text = body.decode("utf-8", "replace") if "json" in headers.get("content-type", "") else f"{len(body)} bytes"
        self.transcript.note(sent, f"{status} {shown} | {text}")
        asked = sent.partition(" | ")[0].partition("?")[0]
        return Answer(self.transcript.masked(asked), status, headers, body)

    # over the socket

    @contextmanager
    def socket(
        self,
        *,
        origin: object = OWN_ORIGIN,
        query: str = "",
        subprotocols: tuple[str, ...] = (SUBPROTOCOL,),
        origins: int = 1,
        compression: str | None = None,
    ) -> Iterator[Peer]:
        """Open a socket with the origin of the shop's page, or with another origin. With None, no `Origin` is sent.

        With the `compression` `deflate`, the client offers `permessage-deflate` (RFC 7692).
        """
        page = self.world.shared(0).origins[0] if origin is OWN_ORIGIN else origin
        address = self.world.socket_address + (f"?{query}" if query else "")
        pages = [("Origin", str(page))] * origins if page is not None else []
        for left in reversed(range(TRIES)):
            with self._opened(address, subprotocols, pages, compression) as connection:
                peer = Peer(connection, self.world.socket_uri, self.transcript, self.now, self.world.patience)
                if left and peer.hello.get("code") == "too_many_sockets":  # for this address; others will end soon
                    threading.Event().wait(1)
                    continue
                yield peer
                return

    @contextmanager
    def _opened(
        self, address: str, subprotocols: tuple[str, ...], headers: list[tuple[str, str]], compression: str | None
    ) -> Iterator[Wire]:
        self.transcript.note(f"opens {address}, {headers}")
        with ExitStack() as ending:
            opening = wire(
                address,
                subprotocols=subprotocols or None,
                additional_headers=headers,
                compression=compression,
                ssl=self.world.trust if address.startswith("wss:") else None,
                open_timeout=WAIT,
                max_size=2**24,
                ping_interval=None,
                close_timeout=2,
            )
            try:
                opened = ending.enter_context(opening)
            except InvalidStatus as refused:
                raise Unopened(refused.response.status_code) from None
            except (InvalidHandshake, InvalidMessage, OSError, TimeoutError) as error:
                raise Broken(f"The socket could not be opened: {type(error).__name__}") from None
            yield opened

    def try_token(self, token: str, key: BrowserKey) -> Ended:
        """Open a socket, and connect with this token and a valid proof of `key`."""
        with self.socket() as peer:
            return peer.connect(token, peer.prove(key, token))

    @contextmanager
    def joined(self, shop: Shop, token: str | None = None) -> Iterator[Peer]:
        """Open a socket, and connect with a valid token. By default, this is the member's token."""
        with self.socket() as peer:
            peer.join(token or shop.token(), shop.key)
            yield peer


CLOSED_MEANWHILE: Final = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""Errors of a kept-alive HTTP connection that the service has closed."""
UNTOLD: Final = frozenset({"date", "server", "content-length", "connection", "transfer-encoding"})
