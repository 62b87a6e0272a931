"""A server that sends a login's bytes without parsing the requests. It shows the client's maximum rate."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop

from chatkey_stack.ports import LOOPBACK


class Canned(asyncio.Protocol):
    """Sends canned login responses. It looks only at the first letters of the request and at `state`."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Send the canned response for the request."""
        state = data.partition(b"&state=")[2].partition(b"&")[0]
        if data.startswith(b"GET /oauth2/authorize"):
            self._send(b"200 OK", b"<form>" + b"x" * 6000)
        elif data.startswith(b"POST /oauth2/authorize"):
            self._send(b"302 Found", b"", b"location: /cb?code=c&state=" + state + b"\r\n")
        else:
            self._send(b"200 OK", b'{"id_token": "%b", "access_token": "a"}' % (b"x" * 1200))

    def _send(self, status: bytes, body: bytes, headers: bytes = b"") -> None:
        self._transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n%b" % (status, headers, len(body), body))


async def serve_canned(port: int) -> None:
    """Serve until the process is stopped."""
    server = await asyncio.get_running_loop().create_server(Canned, LOOPBACK, port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve_canned(int(sys.argv[1])))
