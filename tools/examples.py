"""Makes examples for the documentation with the real server and widget code, and a fixed key, secret and time."""

from __future__ import annotations

import json
import tempfile
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest import mock
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from litestar.testing import TestClient
from structlog.testing import capture_logs

from chatkey_lab.guard import bearer
from chatkey_protocol import frames
from chatkey_protocol.codes import Code
from chatkey_protocol.names import CONFIG_PATH, MEMBER_TOKEN_PATH, SOCKET_PATH, SUBPROTOCOL, VISITOR_TOKEN_PATH
from chatkey_server.app import create_app
from chatkey_server.clock import Clock
from chatkey_server.identity import proofs, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import Profile, Secrets
from chatkey_server.public.opener import Opener
from chatkey_server.settings import Settings
from chatkey_widget import call_proof
from chatkey_widget import proof as widget_proof
from chatkey_widget.keys import PublicKey, base64url

NOW: Final = 1_800_000_030
PID: Final = "prov_docs"
SECRET: Final = "for-the-documentation-only-0123456789"  # noqa: S105 - for everybody to see
ORIGIN: Final = "https://shop.example"
LAB_TOKEN: Final = "to-make-a-business-by"  # noqa: S105 - of a server that is gone when its examples are made
BASE_URL: Final = "https://chat.example"
SOCKET_URI: Final = "wss://chat.example/v1/socket"
NONCE: Final = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
CALL_ID: Final = UUID("5f0c2d1e-0000-4000-8000-000000000001")
AGENT_NONCE: Final = "kP3vX9b0sTq7Lw2eRm5yZg"
FINGERPRINT: Final = ":".join(f"{byte:02X}" for byte in range(32))
AGENT_FINGERPRINT: Final = ":".join(f"{byte:02X}" for byte in range(224, 256))
WIDGET_NONCE: Final = "x7Qm2c9Vt0yKfB5sWn3eLg"
ADA: Final = Profile(name="Ada", email="ada@example.com", avatar="https://shop.example/ada.png")

_PRIVATE: Final = ec.derive_private_key(int.from_bytes(b"a key for the documentation only"), ec.SECP256R1())
_POINT: Final = _PRIVATE.public_key().public_numbers()
KEY: Final = PublicKey(*(base64url(number.to_bytes(32)) for number in (_POINT.x, _POINT.y)))


@cache
def examples() -> Mapping[str, object]:
    """Return all examples by name, as JSON values."""
    made: dict[str, object] = dict(_tokens())
    with _server() as client:
        made |= _http(client)
        made |= _socket(client)
    return made


def claims(token: str) -> Any:
    """Return the claims of a token without verifying the token."""
    return _segment(token, 1)


def sign(token: str, nonce: str) -> str:
    """Make a proof as the widget does. The signature is the same every time (RFC 6979)."""
    made = widget_proof.build(KEY, token=token, nonce=nonce, htu=SOCKET_URI, jti="5xWm0Vq1gk2yTn8b", now=NOW)
    return _compact(made)


def _compact(made: widget_proof.Proof) -> str:
    der = _PRIVATE.sign(made.signing_input.encode(), ec.ECDSA(SHA256(), deterministic_signing=True))
    r, s = decode_dss_signature(der)
    return widget_proof.compact(made.signing_input, r.to_bytes(32) + s.to_bytes(32))


def custom_token() -> str:
    """Make the token of a member of a custom login."""
    return tokens.mint_custom(Secrets(SECRET.encode()), pid=PID, uid="user-42", jkt=KEY.jkt, profile=ADA, now=NOW)


def identity_token() -> str:
    """Make the token of a completed social login."""
    secrets, profile = Secrets(SECRET.encode()), Profile(name="Ada", email="ada@example.com", avatar=ADA.avatar)
    return tokens.mint_identity(
        secrets, pid=PID, uid=SocialUid("github", "5830217"), profile=profile, jkt=KEY.jkt, now=NOW
    )


def _tokens() -> Iterator[tuple[str, object]]:
    yield "key", {"secret_key": SECRET, "jwk": KEY.jwk, "jkt": KEY.jkt, "wf_visitor_uid": KEY.uid}
    yield "custom token", claims(custom_token())
    yield "identity token", claims(identity_token())
    proof = sign(custom_token(), NONCE)
    yield "proof header", _segment(proof, 0)
    yield "proof claims", _segment(proof, 1)
    opener = Opener(ORIGIN, PID, "github", WIDGET_NONCE)
    yield "message to the opener", opener.granted(identity_token())
    declined = Refused(Code.OAUTH_DENIED, "The sign-in with GitHub was cancelled.")
    yield "message of a failure", opener.refused(declined)


def _http(client: TestClient[Any]) -> Iterator[tuple[str, object]]:
    def ask(path: str, **params: str) -> Any:
        return client.get(path.format(id=PID), params=params).json()

    visitor = ask(VISITOR_TOKEN_PATH, uid=KEY.uid)
    exchange = ask(MEMBER_TOKEN_PATH, auth=identity_token(), jkt=KEY.jkt)
    yield "configuration", ask(CONFIG_PATH)
    yield "visitor token answer", visitor
    yield "visitor token", claims(visitor["data"]["auth_token"])
    yield "social token", claims(exchange["data"]["auth_token"])
    yield "failure", ask(MEMBER_TOKEN_PATH, jkt=KEY.jkt)


def _socket(client: TestClient[Any]) -> Iterator[tuple[str, object]]:
    token = custom_token()
    connect = {"type": "connect", "token": token, "proof": sign(token, NONCE)}
    headers = {"name": "Ada"}
    with _connected(client) as wire:
        yield "hello", wire.receive_json()
        yield from _exchange(wire, connect, "ready")
        yield from _exchange(wire, {"type": "refresh", "token": token}, "refreshed")
        question = {"type": "message", "id": "m-1", "headers": headers, "body": "Is the oak table in stock?"}
        yield from _exchange(wire, question, "ack")
        yield from _exchange(wire, {"type": "history", "id": "h-1", "limit": 20}, "history answer")
        yield from _exchange(wire, {"type": "search", "id": "s-1", "query": "oak"}, "search answer")
        with mock.patch("uuid.uuid4", return_value=CALL_ID):
            yield from _exchange(wire, {"type": "call", "id": "c-1", "action": "start", "headers": headers}, "call on")
        yield from _signals()
        wire.send_json({"type": "message", "id": "m-2", "body": " "})
        yield "error that answers a frame", wire.receive_json()
        yield from _exchange(wire, {"type": "ping"}, "pong")
        with _connected(client) as other:
            other.receive_json()
            other.send_json(connect)
            other.receive_json()
            other.send_json({"type": "message", "id": "m-3", "body": "Never mind, I see it."})
            yield "message from elsewhere", wire.receive_json()
        client.post("/lab/clock", json={"advance": 3575}).raise_for_status()
        yield "reauth", wire.receive_json()
    client.post("/lab/reset").raise_for_status()
    with _connected(client) as wire:
        wire.receive_json()
        wire.send_json({**connect, "proof": sign(token, "c29tZSBvdGhlciBjb25uZWN0aW9u")})
        yield "error", wire.receive_json()


def _signals() -> Iterator[tuple[str, object]]:
    """Make an agent's offer and the widget's answer. The server code that relays them is under test elsewhere."""
    call_id = str(CALL_ID)
    sdp = "v=0\r\n…\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fingerprint:sha-256 {}\r\n…\r\n"
    offer = frames.Signal(type="signal", call_id=call_id, event="offer", sdp=sdp.format(AGENT_FINGERPRINT))
    yield "signal offer", {**offer, "nonce": AGENT_NONCE, "fingerprint": AGENT_FINGERPRINT, "ice_servers": []}
    made = call_proof.build(
        KEY,
        call_id=call_id,
        nonce=AGENT_NONCE,
        fingerprint=FINGERPRINT,
        peer_fingerprint=AGENT_FINGERPRINT,
        jti="5xWm0Vq1gk2yTn8b",
        now=NOW,
    )
    yield "call proof header", made.header
    yield "call proof claims", made.claims
    answer = {"type": "signal", "id": "g-2", "call_id": call_id, "action": "answer"}
    yield "signal answer", {**answer, "sdp": sdp.format(FINGERPRINT), "proof": _compact(made)}


def _exchange(wire: Any, frame: Mapping[str, object], answer: str) -> Iterator[tuple[str, object]]:
    wire.send_json(frame)
    yield f"{frame['type']}", frame
    yield answer, wire.receive_json()


def _connected(client: TestClient[Any]) -> Any:
    return client.websocket_connect(SOCKET_PATH, subprotocols=[SUBPROTOCOL], headers={"Origin": ORIGIN})


@contextmanager
def _server() -> Iterator[TestClient[Any]]:
    """Run the server in this process, with the lab that creates the business of the examples."""
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(proofs, "new_nonce", return_value=NONCE),
        capture_logs(),
    ):
        settings = Settings(data_dir=Path(folder), base_url=BASE_URL, lab=True, lab_token=LAB_TOKEN)
        with TestClient(create_app(settings, clock=Clock(lambda: float(NOW)))) as client:
            client.headers.update(bearer(LAB_TOKEN))
            socials = {"google": {"key_source": "service"}, "github": {"key_source": "service"}}
            for social in socials:
                application = {"social": social, "client_id": "service", "client_secret": "kept-by-the-service"}
                client.post("/lab/applications", json=application)
            business = {"id": PID, "secret_key": SECRET, "domains": ["shop.example"], "socials": socials}
            client.post("/lab/providers", json=business).raise_for_status()
            yield client


def _segment(text: str, number: int) -> Any:
    segment = text.split(".")[number]
    return json.loads(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
