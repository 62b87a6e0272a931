"""A WebSocket parser that accepts the length of a frame only in its shortest form (RFC 6455 5.2)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from websockets.exceptions import ProtocolError
from websockets.server import ServerProtocol
from websockets.streams import StreamReader

LEAST: Final = {126: 126, 127: 65_536}
"""For each 7-bit length that announces a longer field, the smallest length that this field may hold."""


class StrictReader(StreamReader):
    """Reads a frame in the same steps as the library: a 2-byte header, then a longer length if there is one."""

    _is_header = True
    _least = 0

    def at_eof(self) -> Generator[None, None, bool]:
        """Record that a frame begins. The library calls this method before each frame."""
        self._is_header = True
        return super().at_eof()

    def read_exact(self, n: int) -> Generator[None, None, bytearray]:
        """Return the next field. Raises `ProtocolError` for a length that would fit into a shorter form."""
        field = yield from super().read_exact(n)
        if self._is_header:
            self._is_header = False
            self._least = LEAST.get(field[1] & 0x7F, 0)
        elif self._least:
            if int.from_bytes(field, "big") < self._least:
                raise ProtocolError("the length is not in its shortest form")
            self._least = 0
        return field


class StrictProtocol(ServerProtocol):
    """The library's protocol with `StrictReader` as its reader."""

    def parse(self) -> Generator[None]:
        """Begin to parse. The library calls this method when it creates the protocol."""
        self.reader = StrictReader()
        return super().parse()
