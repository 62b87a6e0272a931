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


class Pair(NamedTuple):
    """A hostile input and a harmless input for one entry point."""

    hostile: bytes | str
    harmless: bytes | str


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


JSON_ROWS: Final = tuple(json_texts(64))


# the entry points


def first_frame(service: Service, text: str) -> None:
    """Send a frame as the first one on a socket, and wait until the server closes the socket."""
    with service.socket() as peer:
        peer.say(text)
        peer.end()


def get(service: Service, target: str, *headers: bytes) -> None:
    lines = (b"GET " + target.encode() + b" HTTP/1.1", b"Host: localhost", b"Connection: close", *headers)
    service.raw(b"\r\n".join((*lines, b"", b"")))


def post(service: Service, path: str, media_type: bytes, body: bytes, *headers: bytes) -> None:
    lines = (
        b"POST " + path.encode() + b" HTTP/1.1",
        b"Host: localhost",
        b"Connection: close",
        b"Content-Type: " + media_type,
        b"Content-Length: %d" % len(body),
        *headers,
    )
    service.raw(b"\r\n".join((*lines, b"", body)))


@pytest.fixture
def judge(cost: Cost, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return a function that sends a hostile and a harmless input to one entry point and compares their CPU time."""

    def judged(act: Callable[[Any], None], pair: Pair) -> None:
        act(pair.harmless)  # warm up: what is loaded at first use does not count
        harmless, hostile = cost(lambda: act(pair.harmless)), cost(lambda: act(pair.hostile))
        times = (hostile + SLACK_SECONDS) / (harmless + SLACK_SECONDS)
        request.node.user_properties.append((TIMES, times))
        assert times < MOST_TIMES, f"{hostile * 1000:.1f} ms, and {harmless * 1000:.1f} ms for a harmless one"

    return judged


# frames


@pytest.mark.parametrize("row", JSON_ROWS)
def test_the_first_frame(service: Service, judge: Any, row: str) -> None:
    pair = Pair(json_texts(FRAME)[row], honest_json(FRAME))

    judge(lambda text: first_frame(service, text), pair)


@pytest.mark.parametrize("kind", ["connect", "refresh", "message"])
@pytest.mark.parametrize("row", JSON_ROWS)
def test_the_rest_of_a_first_frame(service: Service, judge: Any, row: str, kind: str) -> None:
    def known(text: str) -> str:
        return f'{{"type":"{kind}","token":"x","proof":"y","id":"z","body":"z",' + text.removeprefix("{")

    pair = Pair(known(json_texts(FRAME - 80)[row]), known(honest_json(FRAME - 80)))

    judge(lambda text: first_frame(service, text), pair)


def connects(size: int) -> Iterator[tuple[str, dict[str, str]]]:
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


CONNECTS: Final = dict(connects(FRAME - 100))


@pytest.mark.parametrize("row", CONNECTS)
def test_the_members_of_a_connect(service: Service, judge: Any, row: str) -> None:
    hostile = CONNECTS[row]
    harmless = {name: "a" * max(1, len(text)) for name, text in hostile.items()}
    frames = Pair(*(json.dumps({"type": "connect", **members}) for members in (hostile, harmless)))

    judge(lambda text: first_frame(service, text), frames)


@pytest.mark.parametrize("row", JSON_ROWS)
@pytest.mark.parametrize("part", ["header", "payload"])
def test_the_parts_of_a_proof(service: Service, shop: Shop, judge: Any, part: str, row: str) -> None:
    def prove(text: str) -> None:
        segment = b64(text.encode())
        with service.socket() as peer:
            token = shop.token()
            header, payload, signature = peer.prove(shop.key, token).split(".")
            proof = f"{segment}.{payload}.{signature}" if part == "header" else f"{header}.{segment}.{signature}"
            peer.say({"type": "connect", "token": token, "proof": proof[:PROOF]})
            peer.end()

    size = PROOF * 3 // 4 - 400

    judge(prove, Pair(json_texts(size)[row], honest_json(size)))


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


class Member:
    def __init__(self, service: Service, shop: Shop) -> None:
        self._service = service
        self._shop = shop
        self._ids = iter(range(1_000_000))

    def ask(self, frames: list[dict[str, Any]]) -> None:
        """Connect, send the frames, and read one response to each."""
        key = BrowserKey()
        token = self._shop.sign({**self._shop.claims(cnf={"jkt": key.jkt}), "uid": f"u{next(self._ids)}"})
        with self._service.socket() as peer:
            assert peer.connect(token, peer.prove(key, token)).granted
            for frame in frames:
                peer.ask({"id": f"m{next(self._ids)}", **frame})


@pytest.fixture
def member(service: Service, shop: Shop) -> Member:
    """A member who reconnects for each measurement."""
    return Member(service, shop)


@pytest.mark.parametrize("row", BODIES)
def test_the_body_of_a_message(judge: Any, member: Member, row: str) -> None:
    def write(body: str) -> None:
        member.ask([{"type": "message", "body": body}] * 5)

    judge(write, Pair(BODIES[row], letters(1, 0x4E00, len(BODIES[row]))))


SEARCHES: Final = {
    "nearly there, at every place": ("a" * MESSAGE, "a" * (SEARCH - 1) + "b"),
    "nearly there, from its end": ("a" * MESSAGE, "b" + "a" * (SEARCH - 1)),
    "all its letters, in another order": ("abc" * (MESSAGE // 3) + "acb" * 3, ("abc" * 33)[:-3] + "acba"),
    "one letter": ("a" * MESSAGE, "b"),
    "combining marks": ("a" + MARKS * 999, "a" + MARKS * 24),
    "quotes": ('"' * MESSAGE, '"' * (SEARCH - 1) + "b"),
    "words of the index": ("AND OR NOT NEAR " * 250, "AND OR NOT NEAR( " * 5),
}


@pytest.mark.parametrize("row", SEARCHES)
def test_a_search(judge: Any, member: Member, row: str) -> None:
    said, wanted = SEARCHES[row]

    def search(query: str) -> None:
        member.ask([*[{"type": "message", "body": said}] * 8, *[{"type": "search", "query": query}] * 8])

    judge(search, Pair(wanted, "harmless"))


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


@pytest.mark.parametrize("row", OTHER_FRAMES)
def test_the_other_frames(judge: Any, member: Member, row: str) -> None:
    def send(frame: str) -> None:
        member.ask([json.loads(frame)] * 3)

    hostile = OTHER_FRAMES[row]
    harmless = {"type": hostile["type"], **({"body": "hi"} if hostile["type"] == "message" else {})}
    harmless |= {name: hostile[name] for name in ("action", "call_id") if name in hostile}

    judge(send, Pair(json.dumps(hostile), json.dumps({**harmless, "x": "a" * (len(json.dumps(hostile)) - 40)})))


PIECES: Final = {
    "a frame in pieces of one byte": b"".join([b"\x01\x81\0\0\0\0{", *[b"\x00\x81\0\0\0\0 "] * 9000]),
    "pings": b"\x89\x80\0\0\0\0" * 10_000,
    "pongs": b"\x8a\x80\0\0\0\0" * 10_000,
    "empty frames": b"\x81\x80\0\0\0\0" * 10_000,
}


@pytest.mark.parametrize("row", PIECES)
def test_bytes_around_frames(service: Service, judge: Any, row: str) -> None:
    key = b"dGhlIHNhbXBsZSBub25jZQ=="
    head = (
        b"GET /v1/socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: wf.v1\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n"
    )

    def send(frames: bytes) -> None:
        with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as wire, suppress(ConnectionError):
            wire.sendall(head)
            wire.recv(65_536)
            wire.sendall(frames)
            while wire.recv(65_536):
                pass

    text = b"x" * 60_000
    harmless = b"\x81\xfe" + len(text).to_bytes(2) + b"\0\0\0\0" + text

    judge(send, Pair(PIECES[row], harmless))


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
    "/token?",
    "/member/token?jkt=NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs&",
    "/oauth/google?origin=https://shop.example&",
)


@pytest.mark.parametrize("row", QUERIES)
@pytest.mark.parametrize("target", TARGETS, ids=["visitor", "member", "start"])
def test_a_query(service: Service, shop: Shop, judge: Any, target: str, row: str) -> None:
    def ask(query: str) -> None:
        get(service, f"{shop.path}{target}{query}")

    judge(ask, Pair(QUERIES[row], "uid=" + "a" * len(QUERIES[row])))


@pytest.mark.parametrize("row", JSON_ROWS)
def test_an_identity_token(service: Service, shop: Shop, judge: Any, row: str) -> None:
    size = TOKEN * 3 // 4 - 200

    def exchange(text: str) -> None:
        auth = shop.sign(text.encode())
        get(service, f"{shop.path}/member/token?auth={auth}&jkt={shop.key.jkt}")

    judge(exchange, Pair(json_texts(size)[row], honest_json(size)))


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


@pytest.mark.parametrize("row", PARAMETERS)
def test_a_parameter_of_the_oauth_endpoints(service: Service, shop: Shop, judge: Any, row: str) -> None:
    name, value = row.partition(" ")[0], PARAMETERS[row]
    start = f"{shop.path}/oauth/google?" if name in {"origin", "nonce", "jkt"} else "/v1/public/oauth/google/callback?"

    judge(lambda text: get(service, f"{start}{name}={text}"), Pair(value, "a" * len(value)))


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


@pytest.mark.parametrize("row", PATHS)
def test_a_path(service: Service, judge: Any, row: str) -> None:
    judge(lambda path: get(service, path), Pair(PATHS[row], "/" + "a" * (len(PATHS[row]) - 1)))


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
HEADER_ROWS: Final = [(name, number) for name, values in HEADERS.items() for number in range(len(values))]
PLACES: Final = ("/v1/public/provider/none", "/assets/sdk.js", "/agent", "/admin/", "/lab/clock", "/agent/socket")


@pytest.mark.parametrize("row", HEADER_ROWS, ids=[f"{name}-{number}" for name, number in HEADER_ROWS])
@pytest.mark.parametrize("place", [*PLACES, "start"])
def test_a_header(service: Service, shop: Shop, judge: Any, place: str, row: tuple[str, int]) -> None:
    name, number = row
    value = HEADERS[name][number]
    target = f"{shop.path}/oauth/google" if place == "start" else place

    judge(lambda text: get(service, target, f"{name}: {text}".encode()), Pair(value, "a" * len(value)))


HEADS: Final = {
    "many headers": b"\r\n".join(b"a%d: b" % n for n in range(5000)),
    "one header again and again": b"\r\n".join([b"a: b"] * 8000),
    "many origins": b"\r\n".join([b"Origin: https://shop.example"] * 2000),
    "empty headers": b"\r\n".join([b"a:"] * 10_000),
    "many cookies": b"\r\n".join([b"Cookie: a=b"] * 4000),
}


@pytest.mark.parametrize("row", HEADS)
@pytest.mark.parametrize("place", PLACES)
def test_a_head(service: Service, judge: Any, place: str, row: str) -> None:
    head = HEADS[row]

    judge(lambda lines: get(service, place, lines), Pair(head, b"a: " + b"b" * (len(head) - 3)))


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


@pytest.mark.parametrize("row", FORMS)
@pytest.mark.parametrize("path", ["/agent/sign-in", "/v1/public/oauth/google/callback", "/admin/public/login/"])
def test_a_form(service: Service, judge: Any, path: str, row: str) -> None:
    media_type, body = FORMS[row]
    origin = f"Origin: {service.base_url}".encode()

    def send(content: bytes) -> None:
        service.lab.reset()  # from the eleventh guess in a minute on, no password is checked
        post(service, path, media_type, content, origin)

    honest = b"username=eve&password=" + b"a" * 1000 + b"&rest=" if media_type == FORM else b""

    judge(send, Pair(body, honest + b"a" * (len(body) - len(honest))))


@pytest.mark.parametrize("row", JSON_ROWS)
@pytest.mark.parametrize("path", ["/admin/public/login/", "/admin/api/forms/new-provider/"])
def test_a_body_of_json(service: Service, judge: Any, path: str, row: str) -> None:
    origin = f"Origin: {service.base_url}".encode()

    def send(text: str) -> None:
        service.lab.reset()
        post(service, path, b"application/json", text.encode(), origin)

    judge(send, Pair(json_texts(BODY)[row], honest_json(BODY)))


def test_the_walk_detects_an_input_that_costs_too_much(service: Service, judge: Any) -> None:
    """The test gives `judge` 200 requests in place of one, as if an input cost 200 times as much. `judge` must fail."""

    def ask(times: str) -> None:
        for _ in range(int(times)):
            get(service, "/v1/public/provider/none")

    with pytest.raises(AssertionError, match="for a harmless one"):
        judge(ask, Pair("200", "1"))


def test_the_server_works_after_the_whole_walk(service: Service, shop: Shop, member: Member) -> None:
    member.ask([{"type": "message", "body": "hi"}, {"type": "search", "query": "hi"}])

    assert service.http.get(shop.path).status_code == 200
