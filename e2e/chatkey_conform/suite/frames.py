"""WebSocket frames: a violation of RFC 6455 ends the connection with a close code and no `error` frame."""

from __future__ import annotations

import struct
from typing import Final

from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.subject.subject import Subject

FAMILY = Family("frames", "WebSocket protocol", "socket.md#refusals")

CONT, TEXT, CLOSE, PING, PONG = 0, 1, 8, 9, 10
PROTOCOL, INVALID, TOO_BIG, LATE = 1002, 1007, 1009, 4408
LONGEST_WAIT: Final = 20
PINGED: Final = b'{"type":"ping"}'


def frame(opcode: int, payload: bytes = b"", *, fin: bool = True, reserved: int = 0, masked: bool = True) -> bytes:
    """Return one WebSocket frame (RFC 6455 5.2), valid or invalid."""
    first = (0x80 if fin else 0) | reserved | opcode
    return bytes([first]) + _length(len(payload), masked) + (bytes(4) if masked else b"") + payload


def _length(size: int, masked: bool) -> bytes:
    mask = 0x80 if masked else 0
    if size < 126:
        return bytes([mask | size])
    if size < 65_536:
        return bytes([mask | 126]) + struct.pack("!H", size)
    return bytes([mask | 127]) + struct.pack("!Q", size)


BREAKING: Final[dict[str, tuple[bytes, tuple[int, ...]]]] = {
    "WSK-031": (frame(TEXT, PINGED, masked=False), (PROTOCOL,)),
    **{
        f"WSK-032-{bad.hex()}": (frame(TEXT, b'{"type":"ping","x":"' + bad + b'"}'), (INVALID,))
        for bad in (b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\xe2\x82")
    },
    "WSK-032-split": (frame(TEXT, b'{"type":"ping","x":"\xe2', fin=False) + frame(CONT, b'x"}'), (INVALID,)),
    **{f"WSK-034-{bit:02x}": (frame(TEXT, PINGED, reserved=bit), (PROTOCOL,)) for bit in (0x40, 0x20, 0x10)},
    **{f"WSK-035-{opcode}": (frame(opcode, PINGED), (PROTOCOL,)) for opcode in (*range(3, 8), *range(11, 16))},
    "WSK-036-nothing-to-continue": (frame(CONT, PINGED), (PROTOCOL,)),
    "WSK-036-text-within": (frame(TEXT, b"{", fin=False) + frame(TEXT, PINGED), (PROTOCOL,)),
    "WSK-036-long-ping": (frame(PING, b"x" * 126), (PROTOCOL,)),
    "WSK-036-fragmented-ping": (frame(PING, fin=False), (PROTOCOL,)),
    **{
        f"WSK-039-{code}": (frame(CLOSE, struct.pack("!H", code)), (PROTOCOL,))
        for code in (999, 1005, 1006, 1015, 5000)
    },
    "WSK-039-one-byte": (frame(CLOSE, b"\x03"), (PROTOCOL,)),
    "WSK-039-reason": (frame(CLOSE, b"\x03\xe8\xff"), (INVALID, PROTOCOL)),
}


@FAMILY.judges("D-10/close-codes", each=BREAKING)
def what_breaks_the_protocol_ends_the_connection(subject: Subject, sent: bytes, closes: tuple[int, ...]) -> None:
    """A violation of RFC 6455 ends the connection with the standard close code and no `error` frame."""
    with subject.joined(subject.shop()) as peer:
        peer.send_raw(sent)
        peer.end().closed(*closes)


@FAMILY.judges("D-10/messages", rows=["WSK-033"], each={"first": 1, "second": 2, "third": 3})
def a_character_may_be_split_across_fragments(subject: Subject, cut: int) -> None:
    """A message may arrive in fragments that split a character, with a ping between the fragments."""
    text = '{"type":"message","id":"m-1","body":"🦊"}'.encode()
    at = text.index("🦊".encode()) + cut
    with subject.joined(subject.shop()) as peer:
        peer.send_raw(frame(TEXT, text[:at], fin=False), frame(PING, b"between"), frame(CONT, text[at:]))
        expect(peer.next()["type"], "ack", "type of the answer to a message in fragments")
        found = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect([message["body"] for message in found], ["🦊"], "The bodies of the stored messages")


@FAMILY.judges("D-10/patience", page="limits.md#limits")
def a_frame_that_does_not_come_to_its_end_is_not_waited_for(subject: Subject) -> None:
    """An incomplete frame ends the connection with 4408 and no `error` frame."""
    most = subject.limits.frame_timeout
    if not 0 < most <= LONGEST_WAIT:
        raise OtherLimit(f"not tested with frame_timeout = {most} s: the suite waits at most {LONGEST_WAIT} s")
    with subject.joined(subject.shop()) as peer:
        peer.send_raw(frame(TEXT, padded(1000))[:100])  # a pong sent meanwhile does not complete the frame
        peer.end(most).closed(LATE)


@FAMILY.judges("D-10/patience", page="socket.md#staying")
def the_service_pings_beneath_the_frames(subject: Subject) -> None:
    """The service sends WebSocket pings at the declared interval."""
    most = subject.limits.pong_timeout
    if not 0 < most <= LONGEST_WAIT:
        raise OtherLimit(f"not tested with pong_timeout = {most} s: the suite waits at most {LONGEST_WAIT} s")
    with subject.joined(subject.shop()) as peer:
        expect_that(peer.is_pinged(most), f"No WebSocket ping arrived; pong_timeout is {most} s")


def padded(size: int) -> bytes:
    """Return a `ping` of this many bytes."""
    start, end = b'{"type":"ping","x":"', b'"}'
    return start + b"x" * (size - len(start) - len(end)) + end


@FAMILY.judges("D-20/limits", each={"WSK-041": False, "WSK-041-in-fragments": True}, page="limits.md#limits")
def a_frame_of_the_limit_is_read_and_one_byte_more_is_not(subject: Subject, split: bool) -> None:
    """A frame above the size limit ends the connection with 1009 and no `error` frame."""
    most = subject.limits.frame_bytes

    def sent(size: int) -> bytes:
        raw = padded(size)
        return frame(TEXT, raw[:100], fin=False) + frame(CONT, raw[100:]) if split else frame(TEXT, raw)

    with subject.joined(subject.shop()) as peer:
        peer.send_raw(sent(most))
        expect(peer.next()["type"], "pong", "type of the answer to a frame at the size limit")
        peer.send_raw(sent(most + 1))
        peer.end().closed(TOO_BIG)


@FAMILY.judges("D-10/hello", page="socket.md#the-socket", rows=["WSK-042"])
def compression_is_not_spoken(subject: Subject) -> None:
    """The service does not accept the extension `permessage-deflate`, which browsers offer."""
    with subject.socket(compression="deflate") as peer:
        response = peer.connection.response

    expect_that(
        response is None or "Sec-WebSocket-Extensions" not in response.headers,
        "The service negotiated a WebSocket extension",
    )
