"""A WebSocket parser that accepts a frame's length in its shortest form only (RFC 6455 5.2)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from websockets.exceptions import ProtocolError
from websockets.server import ServerProtocol
from websockets.streams import StreamReader

LEAST: Final = {126: 126, 127: 65_536}
"""For each value of the 7 bits that announces a longer length, the least that this length may be."""


class StrictReader(StreamReader):
    """Reads frames field by field, as the library asks: two bytes of header, then the longer length if there is one."""

    _is_header = True
    _least = 0

    def at_eof(self) -> Generator[None, None, bool]:
        """Begin a frame: the library asks this before each."""
        self._is_header = True
        return super().at_eof()

    def read_exact(self, n: int) -> Generator[None, None, bytearray]:
        """Return the next field. Raises `ProtocolError` if it is a length that fits a shorter form."""
        field = yield from super().read_exact(n)
        if self._is_header:
            self._is_header = False
            self._least = LEAST.get(field[1] & 0x7F, 0)
        elif self._least:
            if int.from_bytes(field, "big") < self._least:
                raise ProtocolError("length is not in its shortest form")
            self._least = 0
        return field


class StrictProtocol(ServerProtocol):
    """The library's protocol, with that reader."""

    def parse(self) -> Generator[None]:
        """Begin to parse; the library calls this when the protocol is made."""
        self.reader = StrictReader()
        return super().parse()
