"""WebSocket handshakes and frames, and what RFC 6455 allows a server to answer."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from tests.serving.http_rows import BAD, GET, LAST, READ, Case, Group, Outcome, each

from chatkey_conform.suite.frames import CLOSE, CONT, PING, PONG, TEXT, frame

OPENED: Final[Outcome] = (101,)
UPGRADE_REQUIRED: Final[Outcome] = (426,)
CONNECTION: Final = b"Connection: Upgrade\r\n"
UPGRADE: Final = b"Upgrade: websocket\r\n"
VERSION: Final = b"Sec-WebSocket-Version: 13\r\n"
KEY: Final = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
HANDSHAKE: Final = GET + CONNECTION + UPGRADE + VERSION + KEY
BEHIND: Final = HANDSHAKE.removeprefix(b"GET /row HTTP/1.1") + b"\r\n"
PROTOCOLS: Final = b"Sec-WebSocket-Protocol: "

NO_HOST: Final = "The library does not look at Host."
NEVER_SHORTEST: Final = "The library reads a length in any form."


def close(code: int, reason: bytes = b"", *, masked: bool = True) -> bytes:
    return frame(CLOSE, code.to_bytes(2) + reason, masked=masked)


def opened(*values: bytes) -> Case:
    """The socket opens. A close frame follows."""
    return Case(values, (OPENED,), after=close(1000))


def refused(*values: bytes, also: tuple[Outcome, ...] = (), differs: str = "") -> Case:
    return Case(values, (BAD, (405,), UPGRADE_REQUIRED, (505,), *also), (), differs)


def other_version(*values: bytes) -> Case:
    return Case(values, (UPGRADE_REQUIRED, BAD), ())


def ordinary(*values: bytes, also: tuple[Outcome, ...] = ()) -> Case:
    """This is no handshake, but a request like any other."""
    return Case(values, (READ, BAD, UPGRADE_REQUIRED, *also))


HANDSHAKES: Final = [
    Group("first line of a handshake", "RFC 6455 4.1", b"{}" + BEHIND).of(
        opened(b"GET /row HTTP/1.1", b"GET /row?a=b HTTP/1.1"),
        refused(b"POST /row HTTP/1.1", b"HEAD /row HTTP/1.1", b"OPTIONS /row HTTP/1.1", b"GET /row HTTP/1.0"),
        refused(b"GET /row?" + b"x" * 8_500 + b" HTTP/1.1", also=((414,),)),
    ),
    Group("Connection of a handshake", "RFC 6455 4.2.1", GET + UPGRADE + VERSION + KEY + b"{}\r\n").of(
        opened(CONNECTION, b"connection:upgrade\r\n", b"Connection: keep-alive, Upgrade\r\n"),
        opened(b"Connection: x\r\n" + CONNECTION),
        ordinary(b"", b"Connection: keep-alive\r\n", b"Connection: x-upgrade\r\n"),
        Case((b"Connection: close\r\n",), (LAST, BAD, UPGRADE_REQUIRED)),
    ),
    Group("Upgrade of a handshake", "RFC 6455 4.2.1", GET + CONNECTION + VERSION + KEY + b"{}\r\n").of(
        opened(UPGRADE, b"upgrade:WebSocket\r\n", b"UPGRADE: WEBSOCKET \r\n"),
        ordinary(b"", b"Upgrade: h2c\r\n", b"Upgrade: websockets\r\n", b"Upgrade: web socket\r\n", b"Upgrade:\r\n"),
        ordinary(b"Upgrade: websocket, h2c\r\n", UPGRADE + UPGRADE, b"Upgrade: websocket/13\r\n", also=(OPENED,)),
    ),
    Group("version of a handshake", "RFC 6455 4.4", GET + CONNECTION + UPGRADE + KEY + b"{}\r\n").of(
        opened(VERSION, b"sec-websocket-version:13\r\n"),
        other_version(b"", VERSION + VERSION),
        other_version(*each(b"Sec-WebSocket-Version: ", b"12\r\n", b"8\r\n", b"14\r\n", b"13, 12\r\n", b"\r\n")),
        other_version(*each(b"Sec-WebSocket-Version: ", b"013\r\n", b"+13\r\n", b"0\r\n", b"x\r\n")),
    ),
    Group("key of a handshake", "RFC 6455 4.2.1", GET + CONNECTION + UPGRADE + VERSION + b"{}\r\n").of(
        opened(KEY, b"sec-websocket-key:AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
        refused(b"", KEY + KEY, *each(b"Sec-WebSocket-Key: ", b"short\r\n", b"\r\n", b"dGhlIHNhbXBsZQ==\r\n")),
        refused(*each(b"Sec-WebSocket-Key: ", b"dGhlIHNhbXBsZSBub25jZQ=\r\n", b"dGhlIHNhbXBsZSBub25jZQ\r\n")),
        refused(*each(b"Sec-WebSocket-Key: ", b"dGhlIHNhbXBsZSBub25jZWFiYw==\r\n", b"dGhl!HNhbXBsZSBub25jZQ==\r\n")),
        refused(b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n", also=(OPENED,)),
    ),
    Group("other lines of a handshake", "RFC 6455 4.2.1", HANDSHAKE + b"{}\r\n\r\n").of(
        opened(b"X: a", b"Origin: https://shop.example", b"Content-Length: 0", b"X: \xff", b"X: " + b"x" * 7_000),
        opened(b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"),
        opened(*each(PROTOCOLS, b"wf.v1", b"wf.v1, chat", b"a,b ,\tc", b"a\r\nSec-WebSocket-Protocol: b")),
        refused(*each(PROTOCOLS, b"a b", b"\xe9", b"a,,b", b"(a)", b""), also=(OPENED,)),
        refused(b"Origin: https://shop.example\r\nOrigin: https://shop.example"),
        refused(b"Content-Length: 4", b"Transfer-Encoding: chunked"),
        refused(b"X : a", b"X: a\0", b"no colon", b"X: a\r\n b", b"X: a\n"),
        refused(b"Host: localhost", differs=NO_HOST),
        refused(b"X: " + b"x" * 8_500, also=((431,),)),
    ),
]


class Pong(NamedTuple):
    data: bytes


Answer = str | bytes | Pong | int
"""A text message, a binary message or a pong of the server, or the code of its close frame."""
Heard = tuple[Answer, ...]


class SocketRow(NamedTuple):
    """`allowed` begins with our answer. `differs` is the reason why the library gives an answer that is not allowed."""

    id: str
    sent: bytes
    allowed: tuple[Heard, ...]
    differs: str = ""


BINARY: Final = 2
DONE, GOING, PROTOCOL, INVALID, TOO_BIG = 1000, 1001, 1002, 1007, 1009
NO_CODE: Final = 1005
LIMIT: Final = 65_536
"""The most bytes of a message."""
SIZES: Final = (0, 1, 125, 126, 127, 65_535, LIMIT)
CONTROL: Final = {"close": CLOSE, "ping": PING, "pong": PONG}


def first(opcode: int, data: bytes = b"") -> bytes:
    """Return a frame that others continue."""
    return frame(opcode, data, fin=False)


def announced(size: int, form: str = "!Q", opcode: int = TEXT) -> bytes:
    """Return the header of a frame, with a length of 16 (`!H`) or 64 bits (`!Q`)."""
    return bytes([0x80 | opcode, {"!H": 0xFE, "!Q": 0xFF}[form]]) + struct.pack(form, size) + bytes(4)


AFTER: Final = frame(TEXT, b"after") + close(DONE)
"""A message and the close frame, which follow each row."""


def read(name: str, sent: bytes, *answers: Answer) -> SocketRow:
    return SocketRow(name, sent + AFTER, ((*answers, "after", DONE),))


def ended(name: str, sent: bytes, code: int, *before: str, also: int = 0, differs: str = "") -> SocketRow:
    """The server closes with `code`. An application may have had no time to answer the messages before."""
    allowed: list[Heard] = [
        (*messages, each_code) for each_code in (code, also) if each_code for messages in (before, ())
    ]
    return SocketRow(name, sent + AFTER, tuple(allowed), differs)


SAMPLE: Final = "κόσμε\0\u07ff\u0800\ufeff\uffff\U00010000🦊\U0010ffff"
RAW: Final = SAMPLE.encode()
CUTS: Final = range(len(RAW) + 1)
NOT_UTF_8: Final = (
    *(b"\x80", b"\xbf", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\xaf", b"\xe0\x9f\xbf", b"\xf0\x80\x80\xaf"),
    *(b"\xf0\x8f\xbf\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80"),
    *(b"\xfc\x84\x80\x80\x80\x80", b"\xfe", b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f\xa6", b"\xc3(", b"\xe2(\xa1"),
)
VALID_CODES: Final = (*range(1000, 1004), *range(1007, 1015), 3000, 3999, 4000, 4999)
INVALID_CODES: Final = (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535)

FRAMES: Final[dict[str, list[SocketRow]]] = {
    "WSK-041 lengths, RFC 6455 5.2": [
        *(read(f"text of {size}", frame(TEXT, b"x" * size), "x" * size) for size in SIZES),
        *(read(f"binary of {size}", frame(BINARY, b"\xfe" * size), b"\xfe" * size) for size in SIZES),
        read("masked", b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "Hello"),
        ended("one byte more", frame(TEXT, b"x" * (LIMIT + 1)), TOO_BIG),
        ended("one byte more in fragments", first(TEXT, b"x") + frame(CONT, b"x" * LIMIT), TOO_BIG),
    ],
    "WSK-044 form of a length, RFC 6455 5.2": [
        *(read(f"{size}", frame(TEXT, b"x" * size), "x" * size) for size in (0, 30, 125, 126, 65_535)),
        *(
            ended(f"{size} in {form}", announced(size, form) + b"x" * size, PROTOCOL, differs=NEVER_SHORTEST)
            for form, sizes in {"!H": (0, 30, 125), "!Q": (0, 30, 126, 65_535)}.items()
            for size in sizes
        ),
    ],
    "WSK-040 announced length, RFC 6455 10.4": [
        read("the limit", frame(TEXT, b"x" * LIMIT), "x" * LIMIT),
        ended("one byte more", announced(LIMIT + 1), TOO_BIG),
        ended("17 MB", announced(17 * 2**20), TOO_BIG),
        ended("2^63", announced(2**63 + 1), TOO_BIG, also=PROTOCOL),
        ended("a ping of 2^63", announced(2**63, opcode=PING), TOO_BIG, also=PROTOCOL),
    ],
    "pings and pongs, RFC 6455 5.5": [
        *(read(f"ping {data!r}", frame(PING, data), Pong(data)) for data in (b"", b"one", b"\0\xff", b"x" * 125)),
        read("three", frame(PING, b"1") + frame(PING, b"2") + frame(PING, b"3"), Pong(b"1"), Pong(b"2"), Pong(b"3")),
        read("a pong that nobody asked for", frame(PONG, b"x")),
        read("such a pong, and a ping", frame(PONG) + frame(PING, b"y"), Pong(b"y")),
        read("before a message", frame(PING, b"1") + frame(TEXT, b"2"), Pong(b"1"), "2"),
        *(ended(f"{name} of 126 bytes", frame(opcode, b"x" * 126), PROTOCOL) for name, opcode in CONTROL.items()),
        *(ended(f"fragment of a {name}", first(opcode), PROTOCOL) for name, opcode in CONTROL.items()),
        ended("a long ping after a message", frame(TEXT, b"x") + frame(PING, b"x" * 126), PROTOCOL, "x"),
    ],
    "WSK-034 reserved bits, RFC 6455 5.2": [
        read("none", frame(TEXT, b"x"), "x"),
        *(ended(f"{bits:#x}", frame(TEXT, b"x", reserved=bits), PROTOCOL) for bits in range(0x10, 0x80, 0x10)),
        *(ended(f"in a {name}", frame(opcode, reserved=0x40), PROTOCOL) for name, opcode in CONTROL.items()),
        ended("in a fragment", first(TEXT, b"x") + frame(CONT, b"y", reserved=0x40), PROTOCOL),
        ended("after a message", frame(TEXT, b"x") + frame(TEXT, b"y", reserved=0x20), PROTOCOL, "x"),
    ],
    "WSK-035 opcodes, RFC 6455 5.2": [
        read("text and binary", frame(TEXT, b"x") + frame(BINARY, b"y"), "x", b"y"),
        *(ended(f"{opcode}", frame(opcode), PROTOCOL) for opcode in (*range(3, 8), *range(11, 16))),
        *(ended(f"{opcode} with data", frame(opcode, b"x"), PROTOCOL) for opcode in (3, 11)),
        ended("within fragments", first(TEXT, b"x") + frame(5) + frame(CONT, b"y"), PROTOCOL),
    ],
    "WSK-031 masks, RFC 6455 5.1": [
        read("masked", frame(TEXT, b"x"), "x"),
        *(ended(f"no mask, {name}", frame(opcode, masked=False), PROTOCOL) for name, opcode in CONTROL.items()),
        ended("no mask, text", frame(TEXT, b"x", masked=False), PROTOCOL),
        ended("no mask in a fragment", first(TEXT, b"x") + frame(CONT, b"y", masked=False), PROTOCOL),
    ],
    "WSK-036 fragments, RFC 6455 5.4": [
        read("two", first(TEXT, b"x") + frame(CONT, b"y"), "xy"),
        read("three", first(TEXT, b"x") + first(CONT, b"y") + frame(CONT, b"z"), "xyz"),
        read("empty", first(TEXT) + first(CONT) + frame(CONT), ""),
        read("a hundred", first(TEXT) + first(CONT, b"x") * 99 + frame(CONT), "x" * 99),
        read("binary", first(BINARY, b"\xff") + frame(CONT, b"\xfe"), b"\xff\xfe"),
        read("a ping between", first(TEXT, b"x") + frame(PING, b"p") + frame(CONT, b"y"), Pong(b"p"), "xy"),
        read("a pong between", first(TEXT, b"x") + frame(PONG, b"p") + frame(CONT, b"y"), "xy"),
        ended("a close between", first(TEXT, b"x") + close(GOING), PROTOCOL, also=GOING),
        ended("nothing to continue", frame(CONT, b"x"), PROTOCOL),
        ended("nothing to continue, more to come", first(CONT, b"x"), PROTOCOL),
        ended("nothing more to continue", frame(TEXT, b"x") + frame(CONT, b"y"), PROTOCOL, "x"),
        ended("text within", first(TEXT, b"x") + frame(TEXT, b"y"), PROTOCOL),
        ended("a fragment of a text within", first(TEXT, b"x") + first(TEXT, b"y"), PROTOCOL),
        ended("binary within", first(TEXT, b"x") + frame(BINARY, b"y"), PROTOCOL),
    ],
    "WSK-032 UTF-8, RFC 6455 8.1": [
        *(read(f"cut at {cut}", first(TEXT, RAW[:cut]) + frame(CONT, RAW[cut:]), SAMPLE) for cut in CUTS),
        read("a byte each", first(TEXT) + b"".join(first(CONT, bytes([byte])) for byte in RAW) + frame(CONT), SAMPLE),
        read("binary", frame(BINARY, b"\xff\xfe"), b"\xff\xfe"),
        *(ended(f"{bad.hex()}", frame(TEXT, b"x" + bad), INVALID) for bad in NOT_UTF_8),
        *(ended(f"{bad.hex()} cut", first(TEXT, bad[:1]) + frame(CONT, bad[1:]), INVALID) for bad in NOT_UTF_8),
        ended("after a message", frame(TEXT, b"x") + frame(TEXT, b"\xff"), INVALID, "x"),
    ],
    "WSK-039 closes, RFC 6455 7.4": [
        read("nothing before it", b""),
        *(ended(f"with {code}", close(code), code) for code in VALID_CODES),
        ended("without a code", frame(CLOSE), NO_CODE),
        ended("with a reason", close(GOING, "κ".encode() * 61), GOING),
        ended("after a message", frame(TEXT, b"x") + close(GOING), GOING, "x"),
        *(
            ended(f"before {sent.hex()}", close(GOING) + sent, GOING)
            for sent in (frame(PING), frame(TEXT, b"x"), b"\xff" * 9)
        ),
        *(ended(f"with {code}", close(code), PROTOCOL) for code in INVALID_CODES),
        ended("with half a code", frame(CLOSE, b"\x03"), PROTOCOL),
        *(ended(f"with a reason of {bad.hex()}", close(DONE, bad), INVALID, also=PROTOCOL) for bad in NOT_UTF_8[-7:]),
    ],
}


def heard_in(received: bytes) -> Heard:
    """Return what the server says in its frames."""
    answers: list[Answer] = []
    while received:
        opcode, size, begin = received[0] & 0x0F, received[1], 2
        if size in {126, 127}:
            begin = {126: 4, 127: 10}[size]
            size = int.from_bytes(received[2:begin])
        answers.append(_heard(opcode, received[begin : begin + size]))
        received = received[begin + size :]
    return tuple(answers)


def _heard(opcode: int, data: bytes) -> Answer:
    if opcode == TEXT:
        return data.decode()
    if opcode == CLOSE:
        return int.from_bytes(data[:2]) if data else NO_CODE
    return Pong(data) if opcode == PONG else data
