"""The servers to which the front forwards, and the headers that it does not forward."""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

Header = tuple[bytes, bytes]

OF_THE_CONNECTION: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
"""Headers that belong to one connection (RFC 9110 7.6.1)."""
OF_THE_HANDSHAKE: Final = b"sec-websocket-"


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server: its URL, the name for the `Host` header, and the CAs that verify the server's certificate."""

    url: str
    host: str
    """Host and port as browsers write them. The address that the front connects to may differ."""
    trusted: ssl.SSLContext

    @property
    def is_tls(self) -> bool:
        return self.url.startswith("https:")

    @property
    def address(self) -> tuple[str, int]:
        """The host and the port to connect to."""
        split = urlsplit(self.url)
        return split.hostname or "", split.port or (443 if self.is_tls else 80)


def passed_on(headers: Iterable[Header]) -> list[Header]:
    """Return the headers of a message without `Host` and without headers that belong to the connection."""
    return [
        (name, value) for name, value in headers if name.lower() not in OF_THE_CONNECTION and name.lower() != b"host"
    ]


def of_a_socket(headers: Iterable[Header]) -> list[tuple[str, str]]:
    """Return the headers of a handshake without `Host` and without headers of the connection or the handshake."""
    kept = [header for header in passed_on(headers) if not header[0].lower().startswith(OF_THE_HANDSHAKE)]
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in kept]
