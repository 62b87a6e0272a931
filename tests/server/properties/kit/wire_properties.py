"""Properties of the shipped server: requests and sockets over the network."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from hypothesis import strategies as st
from tests.server.properties.kit.frame_properties import frame_texts
from tests.server.properties.kit.parameter_properties import queries
from tests.server.properties.kit.proof_properties import (
    HONEST_HEADER,
    JKT,
    MINE,
    Demand,
    Parts,
    proof_parts,
    raw_signature,
    signed_proof,
    token_hash,
)
from tests.server.properties.kit.properties import ACCEPTED, ALSO, REFUSED, Property
from tests.server.properties.kit.second_service import ask
from tests.server.properties.kit.served import ORIGIN, PROVIDER, SECONDS, SECRET, Answer, Served
from tests.server.properties.kit.shaken import b64, sometimes_shaken
from tests.server.properties.kit.token_properties import token_cases
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import MEANINGS

FORM: Final = b"application/x-www-form-urlencoded"
FRAME_BYTES: Final = 64 * 1024
NAMES: Final = ("requests", "starts of social logins", "frames over the wire", "connects over the wire")
_UNSENDABLE: Final = re.compile(rb"[\x00-\x20\x7f]")
_NONCE: Final = re.compile(rb'nonce="[\w-]+"')
"""Matches the nonce of a page, whose random letters may look like the beginning of a token."""


# requests

_socials = st.sampled_from((*["google", "github"] * 4, "discord", "myspace", "Google", "google%00", "a" * 300))
_providers = st.sampled_from((*[PROVIDER] * 20, "prov_b", "service", "x" * 80, "pr%6Fv_a", "..", "\u00e9"))
_nonces = st.sampled_from((*[None, "n" * 22] * 4, "", "n" * 65, "a b", "<script>"))
_jkts = st.sampled_from((*[None, JKT] * 4, JKT[:-1], JKT + "=", "<script>"))


class Start(NamedTuple):
    """The parameters of a request to the login start endpoint."""

    provider: str
    social: str
    origin: str | None
    jkt: str | None
    nonce: str | None


starts = st.builds(Start, _providers, _socials, st.none() | st.just(ORIGIN).flatmap(sometimes_shaken), _jkts, _nonces)
_targets = st.builds(
    lambda path, query: path.encode() + b"?" + _UNSENDABLE.sub(lambda found: b"%%%02X" % found[0][0], query),
    st.builds(
        lambda shape, provider, social: shape.format(id=quote(provider, safe="%."), social=social),
        st.sampled_from(
            (
                *(
                    "/v1/public/provider/{id}",
                    "/v1/public/provider/{id}/token",
                    "/v1/public/provider/{id}/member/token",
                ),
                *("/v1/public/provider/{id}/oauth/{social}", "/v1/public/oauth/{social}/callback", "/v1/socket"),
                *(
                    "/v1/public//provider/{id}",
                    "/v1/public/provider/{id}/",
                    "/assets/{social}",
                    "/schema/{social}",
                    "/{id}",
                ),
            )
        ),
        _providers,
        _socials,
    ),
    st.one_of(
        queries,
        token_cases().map(lambda case: f"jkt={JKT}&auth={quote(case.token)}".encode()),
        st.just(b"uid=v_" + JKT.encode()),
    ),
)
_methods = st.sampled_from(("GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "get", "PATCH"))


class Call(NamedTuple):
    method: str
    target: bytes
    body: bytes | None
    content_type: bytes


calls = st.builds(
    Call, _methods, _targets, st.none() | queries, st.sampled_from((FORM, FORM, b"application/json", b"x", b""))
)


# sockets


class Connect(NamedTuple):
    """A `connect` frame. The proof is signed once the connection's nonce is known."""

    parts: Parts
    token: str


connects = st.builds(
    Connect, proof_parts(), st.sampled_from(("honest", "honest", "honest", "expired", "foreign", "text"))
)
TOKEN_FAULTS: Final = {
    "honest": "",
    "expired": "token_expired",
    "foreign": "token_signature",
    "text": "token_malformed",
}


def properties(served: Served) -> tuple[Property, ...]:
    def check_call(call: Call) -> str:
        answer = served.ask(*call)
        _check_answer(answer, call.method)
        served.check_log()
        return f"{answer.status}"

    def check_start(start: Start) -> str:
        members = {"origin": start.origin, "jkt": start.jkt, "nonce": start.nonce}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in members.items() if value is not None)
        path = f"/v1/public/provider/{quote(start.provider, safe='%.')}/oauth/{start.social}"
        answer = served.ask("GET", f"{path}?{query}".encode())
        _check_answer(answer, "GET")
        assert (answer.status == 302) is _may_start(start), f"{answer.status}: {answer.body[-300:]!r}"
        assert b"<script>" not in answer.body
        return f"{answer.status}"

    def check_frames(texts: list[str]) -> str:
        with _connected(served) as line:
            for text in texts:
                if not _answered(line, text):
                    return REFUSED
        served.check_log()
        return ACCEPTED

    def check_connect(case: Connect) -> str:
        with connect(served.socket_uri, proxy=None, open_timeout=SECONDS, close_timeout=1) as line:
            nonce = json.loads(line.recv(timeout=SECONDS))["nonce"]
            token = _token(case.token)
            proof = signed_proof(case.parts, token=token, nonce=nonce, uri=served.socket_uri)
            line.send(json.dumps({"type": "connect", "token": token, "proof": proof}))
            frame = json.loads(line.recv(timeout=SECONDS))
            if frame["type"] == "error":
                _check_refusal(line, frame)
        demand = Demand(token, JKT, nonce, served.socket_uri, time.time())
        expected = TOKEN_FAULTS[case.token] or ask("proof", proof=proof, **demand._asdict()).get("refused", ACCEPTED)
        code: str = ACCEPTED if frame["type"] == "ready" else frame["code"]
        assert code == expected or code in ALSO.get(expected, ()), f"{frame}, and in Node {expected}"
        return code

    checks: tuple[Callable[[Any], str], ...] = (check_call, check_start, check_frames, check_connect)
    inputs = calls, starts, st.lists(frame_texts, min_size=1, max_size=4), connects
    return tuple(
        Property(name, given, check, both=check in {check_frames, check_connect})
        for name, given, check in zip(NAMES, inputs, checks, strict=True)
    )


def _may_start(start: Start) -> bool:
    return (
        start.provider == PROVIDER
        and start.social in {"google", "github"}
        and start.origin == ORIGIN
        and (start.jkt is None or ask("thumbprint", text=start.jkt)["answer"])
        and (start.nonce is None or re.fullmatch("[A-Za-z0-9_-]{1,64}", start.nonce) is not None)
    )


def _check_answer(answer: Answer, method: str) -> None:
    """Assert what holds for every response: no server error, no token, no script, and a code that fits the status."""
    assert answer.status < 500, answer
    assert answer.headers["x-content-type-options"] == "nosniff", answer
    if method == "HEAD" or answer.status < 400:
        assert method != "HEAD" or not answer.body
        return
    assert b"eyJ" not in _NONCE.sub(b"", answer.body), answer
    if answer.headers["content-type"] == "application/json":
        failure = json.loads(answer.body)
        assert failure["data"] is None
        assert MEANINGS[Code(failure["error"]["code"])].status == answer.status or answer.status == 426, answer
    else:
        assert answer.headers["content-type"] == "text/html; charset=utf-8", answer
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert b"<script>" not in answer.body


@contextmanager
def _connected(served: Served) -> Iterator[ClientConnection]:
    token = _token("honest")
    with connect(served.socket_uri, proxy=None, open_timeout=SECONDS, close_timeout=1) as line:
        nonce = json.loads(line.recv(timeout=SECONDS))["nonce"]
        claims = {"jti": "id-1", "iat": int(time.time()), "htm": "GET", "htu": served.socket_uri, "nonce": nonce}
        payload = json.dumps({**claims, "ath": token_hash(token)}).encode()
        proof = signed_proof(Parts(HONEST_HEADER, payload, raw_signature, MINE))
        line.send(json.dumps({"type": "connect", "token": token, "proof": proof}))
        assert json.loads(line.recv(timeout=SECONDS))["type"] == "ready"
        yield line


def _answered(line: ClientConnection, text: str) -> bool:
    """Send a text and check the response. Returns whether the socket is still open afterwards."""
    raw = text.encode("utf-8", "surrogateescape")
    line.send(raw, text=True)
    try:
        frame = json.loads(line.recv(timeout=SECONDS))
    except ConnectionClosed as closed:
        assert closed.rcvd is not None
        assert closed.rcvd.code == 1007, closed
        assert not _is_utf8(raw)
        return False
    sound = "answer" in ask("frame", text=text, most=FRAME_BYTES)
    if frame["type"] == "error" and "id" not in frame:
        assert not sound or json.loads(text)["type"] in {"connect", "refresh"}, frame
        _check_refusal(line, frame)
        return False
    assert sound, frame
    assert frame.get("id") == json.loads(text).get("id")
    return True


def _check_refusal(line: ClientConnection, frame: dict[str, Any]) -> None:
    """Assert that the server closes the socket after a refusal. The close code must belong to the refusal's code."""
    try:
        more = line.recv(timeout=SECONDS)
    except ConnectionClosed as closed:
        assert closed.rcvd is not None
        assert (closed.rcvd.code, closed.rcvd.reason) == (MEANINGS[Code(frame["code"])].close, frame["code"])
    else:
        raise AssertionError(f"after the refusal {frame} came {more!r}")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _token(kind: str) -> str:
    """Make a member's token for the current time. Some kinds of token have a fault."""
    if kind == "text":
        return "not.a.token"
    at = int(time.time()) - (7200 if kind == "expired" else 0)
    claims = {
        "pid": PROVIDER,
        "uid": f"user-{time.time_ns()}",
        "type": "user",
        "iat": at,
        "exp": at + 3600,
        "cnf": {"jkt": JKT},
    }
    header = b64(b'{"alg":"HS256"}')
    signed = f"{header}.{b64(json.dumps(claims).encode())}"
    key = SECRET[::-1] if kind == "foreign" else SECRET
    return f"{signed}.{b64(hmac.digest(key, signed.encode(), hashlib.sha256))}"
