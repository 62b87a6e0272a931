"""Tests every public entry point with input that is expensive to parse, at the largest accepted size.

Hostile input may cost the server only a small multiple of the CPU time for harmless input of the same size. If you add
an entry point (a frame, a parameter, a header, a form), add rows here: the input that would cost most parsers most, and
what an honest peer would send.
"""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

import pytest
from tests.hostile.cost import TIMES, Cost
from tests.refusals.kit.shipped import Service
from tests.refusals.kit.shop import Shop

from chatkey_peer.key import BrowserKey, b64
from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

MOST_TIMES: Final = 8.0
"""A hostile input may cost this many times the CPU time of the harmless one."""
SLACK_SECONDS: Final = 0.004
"""Seconds that are added to both costs, for the connection, the request and an explained refusal."""

FRAME, BODY, HEAD, QUERY, TOKEN, PROOF, MESSAGE, SEARCH = 65_000, 65_000, 60_000, 16_000, 8192, 4096, 4000, 100


class Entry(NamedTuple):
    """A server, and a shop whose members reach its entry points."""

    service: Service
    shop: Shop

    def first_frame(self, text: str) -> None:
        """Send a frame as the first one on a socket, and wait until the server closes the socket."""
        with self.service.socket() as peer:
            peer.say(text)
            peer.end()

    def ask(self, frames: list[dict[str, Any]]) -> None:
        """Connect as a new member, send the frames, and read one response to each."""
        key = BrowserKey()
        token = self.shop.sign({**self.shop.claims(cnf={"jkt": key.jkt}), "uid": f"u{next(IDS)}"})
        with self.service.socket() as peer:
            assert peer.connect(token, peer.prove(key, token)).granted
            for frame in frames:
                peer.ask({"id": f"m{next(IDS)}", **frame})

    def get(self, target: str, *headers: bytes) -> None:
        path = target.replace("{shop}", self.shop.path).encode()
        lines = (b"GET " + path + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *headers)
        self.service.raw(b"\r\n".join((*lines, b"", b"")))

    def post(self, path: str, media_type: bytes, body: bytes) -> None:
        """Post a body from the service's own origin. From the eleventh guess in a minute on, no password is checked."""
        self.service.lab.reset()
        lines = (
            b"POST " + path.encode() + b" HTTP/1.1",
            b"Host: localhost",
            b"Connection: close",
            b"Content-Type: " + media_type,
            b"Content-Length: %d" % len(body),
            b"Origin: " + self.service.base_url.encode(),
        )
        self.service.raw(b"\r\n".join((*lines, b"", body)))


IDS: Final = iter(range(1_000_000))
Send = Callable[[Entry, Any], None]


class Row(NamedTuple):
    """A hostile input, and the harmless one to which it is compared. Without one, this is as many letters."""

    send: Send
    hostile: bytes | str
    harmless: bytes | str = ""

    def compared(self) -> bytes | str:
        return self.harmless or "a" * len(self.hostile)


Rows = Iterator[tuple[str, Row]]


# expensive JSON


def filled(start: str, piece: Callable[[int], str], end: str, size: int) -> str:
    """Join `start`, comma-separated pieces and `end`. The number of pieces is the highest that fits into `size`."""
    pieces, used = [], len(start) + len(end)
    for number in range(size):
        part = piece(number)
        used += len(part) + 1
        if used > size:
            break
        pieces.append(part)
    return start + ",".join(pieces) + end


def json_texts(size: int) -> dict[str, str]:
    """Return JSON objects of this size that take a careless parser a long time. The keys describe the objects."""
    member = '"m":' + '"x"'
    return {
        "one member that repeats at the end": filled("{", lambda n: f'"{n:x}":1', ',"z":1,"z":1}', size),
        "one member that repeats throughout": filled("{", lambda _: member, "}", size),
        "two members in turn": filled("{", lambda n: f'"{n % 2}":1', "}", size),
        "objects in a row": filled('{"a":[', lambda _: '{"a":0,"a":0}', "]}", size),
        "brackets that open": '{"a":' + "[" * (size - 5),
        "braces that open": '{"a":' * (size // 5),
        "brackets that close again": '{"a":' + "[" * (size // 2 - 4) + "]" * (size // 2 - 4) + "}",
        "pairs of brackets": filled('{"a":[', lambda _: "[]", "]}", size),
        "a number of many digits": '{"a":' + "9" * (size - 6) + "}",
        "numbers as long as are read": filled('{"a":[', lambda _: "9" * 4300, "]}", size),
        "a fraction of many digits": '{"a":0.' + "3" * (size - 8) + "}",
        "a small number of many digits": '{"a":0.' + "0" * (size - 20) + "1e-300}",
        "exponents": filled('{"a":[', lambda _: "1e308", "]}", size),
        "escapes": '{"a":"' + "\\u0061" * ((size - 8) // 6) + '"}',
        "halves of surrogates": '{"a":"' + "\\ud800" * ((size - 8) // 6) + '"}',
        "backslashes": '{"a":"' + "\\\\" * ((size - 8) // 2) + '"}',
        "a text without end": '{"a":"' + "x" * (size - 6),
        "white space": '{"a":1' + " " * (size - 7) + "}",
        "a long name twice": '{"' + "n" * (size // 2 - 8) + '":0,"' + "n" * (size // 2 - 8) + '":0}',
        "commas": '{"a":[' + "," * (size - 8) + "]}",
        "letters of four bytes": '{"a":"' + "\U0001f512" * ((size - 8) // 4) + '"}',
    }


def honest_json(size: int) -> str:
    """Return a harmless JSON object of this size, which a parser reads to its end."""
    return filled('{"a":[', lambda n: f'"{n:06}"', "]}", size)


# frames


def known(kind: str, text: str) -> str:
    return f'{{"type":"{kind}","token":"x","proof":"y","id":"z","body":"z",' + text.removeprefix("{")


def prove(part: int, entry: Entry, text: str) -> None:
    with entry.service.socket() as peer:
        token = entry.shop.token()
        parts = peer.prove(entry.shop.key, token).split(".")
        parts[part] = b64(text.encode())
        peer.say({"type": "connect", "token": token, "proof": ".".join(parts)[:PROOF]})
        peer.end()


def connects(size: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield frames with a hostile token or proof, of at most this size."""
    honest = {"token": "x.y.z", "proof": "x.y.z"}
    for name, text in json_texts(TOKEN * 3 // 4 - 100).items():
        header = b64(b'{"alg":"HS256"}')
        yield f"payload of the token: {name}", {**honest, "token": f"{header}.{b64(text.encode())}.AAAA"[:TOKEN]}
    for name, text in json_texts(PROOF * 3 // 4 - 100).items():
        yield f"header of the token: {name}", {**honest, "token": f"{b64(text.encode())}.e30.AAAA"}
    yield "token of dots", {**honest, "token": "." * TOKEN}
    yield "token of spaces", {**honest, "token": " " * TOKEN}
    yield "token of quotes", {**honest, "token": '"' * (size // 2)}
    yield "token that is too large", {**honest, "token": "a" * size}
    yield "proof that is too large", {**honest, "proof": "a" * size}
    yield "member that is no text", {**honest, "token": "[" * 10}


def letters(seed: int, first: int, count: int) -> str:
    """Return `count` different random characters. The code point `first` is the lowest one that can be drawn."""
    return "".join(chr(first + number) for number in random.Random(seed).sample(range(20_000), count))


MARKS: Final = "\u0315\u0300\u0327\u0334"
BODIES: Final = {
    "combining marks out of order": "a" + MARKS * (MESSAGE // 4 - 1),
    "combining marks, one for each letter": "a\u0315\u0300" * (MESSAGE // 3),
    "letters that grow when they are folded": "\u0390" * MESSAGE,
    "letters that decompose": "\u1e9b\u0323" * (MESSAGE // 2),
    "jamo": "\u1100\u1161\u11a8" * (MESSAGE // 3),
    "one letter": "a" * MESSAGE,
    "quotes": "'\"" * (MESSAGE // 2),
    "wildcards": "%_" * (MESSAGE // 2),
    "letters of four bytes": "\U0001f512" * MESSAGE,
    "what looks like tokens": "eyJhbGciOiJIUzI1NiJ9." * (MESSAGE // 21),
}


SEARCHES: Final = {
    "nearly there, at every place": ("a" * MESSAGE, "a" * (SEARCH - 1) + "b"),
    "nearly there, from its end": ("a" * MESSAGE, "b" + "a" * (SEARCH - 1)),
    "all its letters, in another order": ("abc" * (MESSAGE // 3) + "acb" * 3, ("abc" * 33)[:-3] + "acba"),
    "one letter": ("a" * MESSAGE, "b"),
    "combining marks": ("a" + MARKS * 999, "a" + MARKS * 24),
    "quotes": ('"' * MESSAGE, '"' * (SEARCH - 1) + "b"),
    "words of the index": ("AND OR NOT NEAR " * 250, "AND OR NOT NEAR( " * 5),
}


OTHER_FRAMES: Final[dict[str, dict[str, Any]]] = {
    "name of combining marks": {"type": "message", "body": "hi", "headers": {"name": "a" + MARKS * 63}},
    "call with a name of combining marks": {"type": "call", "action": "start", "headers": {"name": MARKS * 63}},
    "history before everything": {"type": "history", "before": 2**31 - 1, "limit": 50},
    "signal with a description of fingerprints": {
        "type": "signal",
        "call_id": "5f0c2d1e-0000-4000-8000-000000000001",
        "action": "answer",
        "sdp": "a=fingerprint:sha-256 00\r\n" * 300,
    },
    "refresh that is no token": {"type": "ping", "x": "." * 60_000},
}


PIECES: Final = {
    "a frame in pieces of one byte": b"".join([b"\x01\x81\0\0\0\0{", *[b"\x00\x81\0\0\0\0 "] * 9000]),
    "pings": b"\x89\x80\0\0\0\0" * 10_000,
    "pongs": b"\x8a\x80\0\0\0\0" * 10_000,
    "empty frames": b"\x81\x80\0\0\0\0" * 10_000,
}


def search(said: str, entry: Entry, query: str) -> None:
    entry.ask([*[{"type": "message", "body": said}] * 8, *[{"type": "search", "query": query}] * 8])


HANDSHAKE: Final = (
    b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: wf.v1\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def send_bytes(entry: Entry, frames: bytes) -> None:
    address = ("127.0.0.1", entry.service.port)
    with socket.create_connection(address, timeout=PATIENCE) as wire, suppress(ConnectionError):
        wire.sendall(HANDSHAKE)
        wire.recv(65_536)
        wire.sendall(frames)
        while wire.recv(65_536):
            pass


def frames() -> Rows:
    for name, text in json_texts(FRAME).items():
        yield f"first frame: {name}", Row(Entry.first_frame, text, honest_json(FRAME))
    for kind in ("connect", "refresh", "message"):
        for name, text in json_texts(FRAME - 80).items():
            row = Row(Entry.first_frame, known(kind, text), known(kind, honest_json(FRAME - 80)))
            yield f"rest of a {kind}: {name}", row
    for name, members in connects(FRAME - 100):
        harmless = {member: "a" * max(1, len(text)) for member, text in members.items()}
        hostile, compared = (json.dumps({"type": "connect", **each}) for each in (members, harmless))
        yield f"member of a connect: {name}", Row(Entry.first_frame, hostile, compared)
    size = PROOF * 3 // 4 - 400
    for name, text in json_texts(size).items():
        for part in (0, 1):
            yield f"part {part} of a proof: {name}", Row(partial(prove, part), text, honest_json(size))
    for name, body in BODIES.items():
        yield f"message: {name}", Row(write, body, letters(1, 0x4E00, len(body)))
    for name, (said, wanted) in SEARCHES.items():
        yield f"search: {name}", Row(partial(search, said), wanted, "harmless")
    for name, frame in OTHER_FRAMES.items():
        plain = {"type": frame["type"], **({"body": "hi"} if frame["type"] == "message" else {})}
        plain |= {member: frame[member] for member in ("action", "call_id") if member in frame}
        text = json.dumps(frame)
        yield name, Row(three_times, text, json.dumps({**plain, "x": "a" * (len(text) - 40)}))
    large = b"x" * 60_000
    for name, pieces in PIECES.items():
        yield name, Row(send_bytes, pieces, b"\x81\xfe" + len(large).to_bytes(2) + b"\0\0\0\0" + large)


def write(entry: Entry, body: str) -> None:
    entry.ask([{"type": "message", "body": body}] * 5)


def three_times(entry: Entry, frame: str) -> None:
    entry.ask([json.loads(frame)] * 3)


# queries, paths and headers

QUERIES: Final = {
    "ampersands": "&" * QUERY,
    "semicolons": "uid=" + ";" * QUERY,
    "empty parameters": "a=&" * (QUERY // 3),
    "one parameter again and again": "uid=x&" * (QUERY // 6),
    "percent signs": "uid=" + "%" * QUERY,
    "encoded letters": "uid=" + "%61" * (QUERY // 3),
    "broken UTF-8": "uid=" + "%ff" * (QUERY // 3),
    "plus signs": "uid=" + "+" * QUERY,
    "equal signs": "uid" + "=" * QUERY,
    "underscores": "uid=v_" + "_" * QUERY,
    "what looks like a token": "auth=" + "eyJ." * (QUERY // 4),
    "dots": "auth=" + "." * 8000,
}
TARGETS: Final = (
    "{shop}/token?",
    "{shop}/member/token?jkt=NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs&",
    "{shop}/oauth/google?origin=https://shop.example&",
)
PARAMETERS: Final = {
    "origin": "https://" + "a." * 140,
    "origin of dashes": "https://" + "-" * 280,
    "nonce": "n" * 16_000,
    "jkt": "A" * 16_000,
    "state": "A" * 7000 + "." + "A" * 7000,
    "state of dots": "." * 15_000,
    "code": "c" * 15_000,
    "iss": "https://" + "i" * 15_000,
    "error": "access_denied" * 1000,
}


PATHS: Final = {
    "slashes": "/" * 16_000,
    "segments": "/a" * 8000,
    "segments under a prefix": "/v1/public/provider" + "/a" * 8000,
    "dots": "/." * 8000,
    "steps up": "/.." * 5000,
    "encoded letters": "/%61" * 4000,
    "a long id": "/v1/public/provider/" + "a" * 16_000,
    "a long asset": "/assets/" + "a" * 16_000,
    "an asset of dots": "/assets/" + "." * 16_000,
    "the admin panel's": "/admin/" + "a/" * 8000,
    "an admin's table of digits": "/admin/api/tables/" + "9" * 16_000,
    "an admin's table of dashes": "/admin/api/tables/" + "a-" * 8000 + "!",
    "the agent panel's": "/agent/" + "a" * 16_000,
    "the lab's": "/lab/" + "a" * 16_000,
    "dots and letters in turn": "/.a" * 5000 + "%",
}


HEADERS: Final = {
    "Accept-Language": ("de;q=0.1," * 6000, "de-" * 20_000, ",;=" * 20_000, "*;q=" + "0" * 50_000),
    "Accept-Encoding": ("gzip;q=0.1," * 5000, "zstd," * 12_000, ";q=" * 20_000),
    "Accept": ("a/b;q=0.1," * 6000, "*/*," * 15_000),
    "If-None-Match": ('"a",' * 15_000, 'W/"' * 20_000, '"' + "\\" * 50_000),
    "Cookie": (
        "a=b;" * 15_000,
        "chatkey_agent=" + "A" * 50_000,
        "chatkey_agent-1=a;" * 3000,
        ";" * 60_000,
        '="' * 30_000,
    ),
    "X-Forwarded-For": ("1.2.3.4," * 7000, "::," * 20_000),
    "Authorization": ("Basic " + "A" * 50_000, "Bearer " + " " * 50_000),
    "Origin": ("https://" + "a." * 25_000, "https://" + "-" * 50_000),
    "User-Agent": ("eyJ" * 20_000, "-----BEGIN A" * 5000, "Bearer " * 8000, "?a=" * 20_000),
    "Content-Type": ("text/plain;" + "a=b;" * 14_000, "multipart/form-data; boundary=" + "-" * 50_000),
    "Sec-WebSocket-Protocol": ("wf.v1," * 9000, "," * 55_000),
    "Range": ("bytes=" + "0-1," * 14_000,),
}
PLACES: Final = ("/v1/public/provider/none", "/assets/sdk.js", "/agent", "/admin/", "/lab/clock", "/agent/socket")


HEADS: Final = {
    "many headers": b"\r\n".join(b"a%d: b" % n for n in range(5000)),
    "one header again and again": b"\r\n".join([b"a: b"] * 8000),
    "many origins": b"\r\n".join([b"Origin: https://shop.example"] * 2000),
    "empty headers": b"\r\n".join([b"a:"] * 10_000),
    "many cookies": b"\r\n".join([b"Cookie: a=b"] * 4000),
}


def at(target: str, entry: Entry, text: str) -> None:
    entry.get(target + text)


def with_header(target: str, name: str, entry: Entry, value: str) -> None:
    entry.get(target, f"{name}: {value}".encode())


def with_lines(target: str, entry: Entry, lines: bytes) -> None:
    entry.get(target, lines)


def exchange(entry: Entry, text: str) -> None:
    entry.get(f"{{shop}}/member/token?auth={entry.shop.sign(text.encode())}&jkt={entry.shop.key.jkt}")


def heads() -> Rows:
    for target in TARGETS:
        for name, query in QUERIES.items():
            yield f"query of {target}: {name}", Row(partial(at, target), query, "uid=" + "a" * len(query))
    size = TOKEN * 3 // 4 - 200
    for name, text in json_texts(size).items():
        yield f"identity token: {name}", Row(exchange, text, honest_json(size))
    for name, value in PARAMETERS.items():
        member = name.partition(" ")[0]
        path = "{shop}/oauth/google" if member in {"origin", "nonce", "jkt"} else "/v1/public/oauth/google/callback"
        yield f"parameter {name}", Row(partial(at, f"{path}?{member}="), value)
    for name, path in PATHS.items():
        yield f"path: {name}", Row(partial(at, ""), path, "/" + "a" * (len(path) - 1))
    for place in (*PLACES, "{shop}/oauth/google"):
        for header, values in HEADERS.items():
            for number, value in enumerate(values):
                yield f"{header} {number} at {place}", Row(partial(with_header, place, header), value)
    for place in PLACES:
        for name, lines in HEADS.items():
            yield f"{name} at {place}", Row(partial(with_lines, place), lines, b"a: " + b"b" * (len(lines) - 3))


# bodies

FORM = b"application/x-www-form-urlencoded"
MULTIPART = b"multipart/form-data; boundary=x"
PART = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'
FORMS: Final = {
    "ampersands": (FORM, b"&" * BODY),
    "fields": (FORM, b"a=b&" * (BODY // 4)),
    "a field again and again": (FORM, b"username=eve&" * (BODY // 13)),
    "percent signs": (FORM, b"username=" + b"%" * (BODY - 9)),
    "encoded letters": (FORM, b"password=" + b"%61" * (BODY // 3 - 3)),
    "a long password": (FORM, b"username=eve&password=" + b"p" * (BODY - 30)),
    "parts": (MULTIPART, PART * (BODY // len(PART) - 1) + b"--x--\r\n"),
    "boundaries": (MULTIPART, b"--x\r\n" * (BODY // 5)),
    "nearly boundaries": (MULTIPART, PART + b"\r\n--" * (BODY // 4 - 20)),
    "headers of a part": (MULTIPART, b"--x\r\n" + b"A: b\r\n" * (BODY // 6 - 9) + b"\r\n\r\n--x--"),
    "a long disposition": (
        MULTIPART,
        b"--x\r\nContent-Disposition: form-data; " + b'a="b"; ' * (BODY // 7 - 20) + b"\r\n\r\n--x--",
    ),
    "JSON": (b"application/json", b"[" * BODY),
}


def send_body(path: str, media_type: bytes, entry: Entry, body: bytes) -> None:
    entry.post(path, media_type, body)


def bodies() -> Rows:
    for path in ("/agent/sign-in", "/v1/public/oauth/google/callback", "/admin/public/login/"):
        for name, (media_type, body) in FORMS.items():
            honest = b"username=eve&password=" + b"a" * 1000 + b"&rest=" if media_type == FORM else b""
            honest += b"a" * (len(body) - len(honest))
            yield f"form at {path}: {name}", Row(partial(send_body, path, media_type), body, honest)
    for path in ("/admin/public/login/", "/admin/api/forms/new-provider/"):
        for name, text in json_texts(BODY).items():
            row = Row(partial(send_body, path, b"application/json"), text.encode(), honest_json(BODY).encode())
            yield f"JSON at {path}: {name}", row


ROWS: Final = dict(chain(frames(), heads(), bodies()))


@pytest.mark.parametrize("row", ROWS)
def test_an_input_costs_at_most_a_few_times_as_much_as_a_harmless_one(
    service: Service, shop: Shop, cost: Cost, request: pytest.FixtureRequest, row: str
) -> None:
    send, hostile, harmless = ROWS[row].send, ROWS[row].hostile, ROWS[row].compared()
    entry = Entry(service, shop)
    send(entry, harmless)  # warm up: what is loaded at first use does not count

    least, most = cost(lambda: send(entry, harmless)), cost(lambda: send(entry, hostile))

    times = (most + SLACK_SECONDS) / (least + SLACK_SECONDS)
    request.node.user_properties.append((TIMES, times))
    assert times < MOST_TIMES, f"{most * 1000:.1f} ms, and {least * 1000:.1f} ms for a harmless one"
