"""Properties of whole conversations over one socket. A small model predicts the response to frames in any order."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st
from tests.server.properties.kit.proof_properties import JKT, JWK, MINE, THIEFS, jwk_of, raw_signature
from tests.server.properties.kit.properties import ACCEPTED, REFUSED, Property
from tests.server.properties.kit.shaken import b64
from tests.server.properties.kit.token_properties import PID, SECRET

from chatkey_peer.key import BrowserKey
from chatkey_server.identity import proofs, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Profile, Secrets
from chatkey_server.settings import Limits
from chatkey_server.socket.connection import READER, Connection, State
from chatkey_server.storage.providers import ProviderView

START: Final = 1_800_000_000.0
URI: Final = "wss://chat.example/v1/socket"
LIMITS: Final = Limits(frames_per_second=0)
PROVIDER: Final = ProviderView(
    id=PID,
    enabled=True,
    secrets=Secrets(SECRET),
    origins=("https://shop.example",),
    restrict_socket_origins=False,
    socials={},
    configuration=b"",
    etag="",
)
Step = tuple[str, Any]

_seconds = st.sampled_from((0.0, 0.5, 9.9, 10.0, 60.0, 3569.0, 3570.0, 3599.0, 3600.0))
_steps = st.one_of(
    st.tuples(st.just("wait"), _seconds),
    st.tuples(
        st.just("connect"), st.sampled_from(("honest", "honest", "thief", "old nonce", "other token", "expired"))
    ),
    st.tuples(
        st.just("refresh"), st.sampled_from(("newer", "older", "other uid", "other key", "other login", "expired"))
    ),
    st.tuples(st.just("say"), st.sampled_from(("ping", "message", "history", "search", "call", "nonsense"))),
)
conversations = st.builds(
    lambda first, rest: [*first, *rest],
    st.sampled_from(([], [("connect", "honest")], [("wait", 9.9), ("connect", "honest")])),
    st.lists(_steps, max_size=8),
)
SAID: Final = {
    "ping": {"type": "ping"},
    "message": {"type": "message", "id": "m", "body": "x"},
    "history": {"type": "history", "id": "h"},
    "search": {"type": "search", "id": "s", "query": "x"},
    "call": {"type": "call", "id": "c", "action": "start"},
    "nonsense": {"type": "hello"},
}


@dataclass
class Model:
    """A model of the connection, which is anonymous, connected until a given time, or ended."""

    now: float = START
    is_ready: bool = False
    ends_at: float = START + 10
    nonce: str = ""
    machine: Connection = field(default_factory=lambda: Connection(URI, LIMITS, now=START))

    def expected(self, kind: str, how: Any) -> set[str]:
        """Return the codes with which the server may refuse a step.

        If the server must accept the step, return an empty set.
        """
        if self.now >= self.ends_at:
            return {"token_expired"} if self.is_ready else {"auth_timeout"}
        if how == "nonsense":
            return {"frame_invalid"}
        if kind == "connect":
            return {"frame_unexpected"} if self.is_ready else WRONG_CONNECTS[how]
        if not self.is_ready:
            return {"frame_unexpected"}
        return WRONG_REFRESHES[how] if kind == "refresh" else set()


WRONG_CONNECTS: Final[dict[str, set[str]]] = {
    "honest": set(),
    "thief": {"proof_key_mismatch"},
    "old nonce": {"proof_nonce"},
    "other token": {"proof_ath"},
    "expired": {"token_expired"},
}
WRONG_REFRESHES: Final[dict[str, set[str]]] = {
    "newer": set(),
    "older": set(),
    "other uid": {"identity_changed"},
    "other login": {"identity_changed"},
    "other key": {"identity_changed"},
    "expired": {"token_expired"},
}


def check_conversation(steps: list[Step]) -> str:
    """Play a conversation up to the first refusal. After the refusal, the server must do nothing more."""
    model = Model()
    model.nonce = model.machine.arrive([], b"")["nonce"]
    for kind, how in steps:
        if kind == "wait":
            model.now += how
            continue
        expected = model.expected(kind, how)
        try:
            _play(model, kind, how)
        except Refused as refused:
            assert refused.code in expected, f"{kind} {how}: {refused}, expected {sorted(expected) or 'an answer'}"
            return REFUSED
        assert not expected, f"{kind} {how} was taken in spite of {sorted(expected)}"
        assert (model.machine.state is State.READY) is model.is_ready
    return ACCEPTED


def _play(model: Model, kind: str, how: str) -> None:
    if kind == "connect":
        _connect(model, how)
    elif kind == "refresh":
        _refresh(model, how)
    else:
        frame = model.machine.receive(json.dumps(SAID[how]), model.now)
        assert READER.read(json.dumps(SAID[how]), max_bytes=4096) == frame


def _connect(model: Model, how: str) -> None:
    token = _token(model.now - 7200 if how == "expired" else model.now)
    key = THIEFS if how == "thief" else MINE
    nonce = proofs.new_nonce() if how == "old nonce" else model.nonce
    proof = _proof(key, _token(model.now - 1) if how == "other token" else token, nonce, model.now)
    frame = model.machine.receive(json.dumps({"type": "connect", "token": token, "proof": proof}), model.now)
    assert frame["type"] == "connect"
    model.machine.connect(frame, tokens.unverified(token), PROVIDER, model.now)
    ready = model.machine.ready(model.now)
    assert (ready["uid"], ready["identity"], ready["expires_at"]) == ("user-1", "member", int(model.now) + 3600)
    model.is_ready, model.ends_at = True, float(ready["expires_at"])


def _refresh(model: Model, how: str) -> None:
    match how:
        case "other uid":
            token = _token(model.now, uid="user-2")
        case "other key":
            token = _token(model.now, jkt=BrowserKey(THIEFS).jkt)
        case "other login":
            token = tokens.mint_visitor(Secrets(SECRET), pid=PID, uid=f"v_{JKT}", now=model.now)
        case _:
            token = _token(model.now - {"newer": 0, "older": 3000, "expired": 7200}[how])
    frame = model.machine.receive(json.dumps({"type": "refresh", "token": token}), model.now)
    assert frame["type"] == "refresh"
    refreshed = model.machine.refresh(frame, PROVIDER, model.now)
    newest = max(model.ends_at, float(int(model.now) + 3600 - {"newer": 0, "older": 3000}[how]))
    assert refreshed["expires_at"] == int(newest)
    model.ends_at = newest


def _token(at: float, *, uid: str = "user-1", jkt: str = JKT) -> str:
    return tokens.mint_custom(Secrets(SECRET), pid=PID, uid=uid, jkt=jkt, profile=Profile(), now=at)


def _proof(key: Any, token: str, nonce: str, now: float) -> str:
    header = {"typ": "wf-proof+jwt", "alg": "ES256", "jwk": JWK if key is MINE else jwk_of(key)}
    ath = proofs.access_token_hash(token)
    claims = {"jti": "id-1", "iat": int(now), "htm": "GET", "htu": URI, "nonce": nonce, "ath": ath}
    signed = ".".join(b64(json.dumps(part).encode()) for part in (header, claims))
    return f"{signed}.{b64(raw_signature(key, signed.encode()))}"


PROPERTIES: Final = (Property("conversations", conversations, check_conversation),)
