"""Properties of the `state` that returns to the callback of a social login. The values are genuine or forged."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Final, NamedTuple

import pytest
from hypothesis import strategies as st
from tests.server.properties.kit.properties import ACCEPTED, Property
from tests.server.properties.kit.shaken import Draw, b64, sometimes_shaken

from chatkey_server.identity import oauth_state
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.oauth_state import State

NOW: Final = 1_800_000_030
KEYS: Final = (b"the server's own key, of today..", b"the server's own key, of yore...")
SECRET_KEY: Final = b"the-secret-key-of-a-provider-0123456789"


class StateCase(NamedTuple):
    """A returned `state`, the genuine `state` from which it was made, and the provider and time of the callback."""

    text: str
    made: State
    social: str
    now: float


@st.composite
def state_cases(draw: Draw) -> StateCase:
    """Generate a `state` that is correct or slightly wrong."""
    made = State(
        id=draw(st.sampled_from(("Zt5Yk1J2a9f3oQm8Xw7c-A", "b" * 32))),
        pid="prov_a",
        social=draw(st.sampled_from(("google", "github"))),
        origin="https://shop.example",
        iat=NOW,
        nonce=draw(st.sampled_from((None, "n" * 22))),
    )
    key = draw(st.sampled_from((KEYS[0], KEYS[0], KEYS[0], KEYS[1], SECRET_KEY, b"")))
    text = oauth_state.mint(key, made) if draw(st.booleans()) else _otherwise(draw, key, made)
    now = NOW + draw(st.sampled_from((0, 1, 599, 599.9, 600, 601, 86_400, -1, -60, -61)))
    return StateCase(draw(sometimes_shaken(text)), made, draw(st.sampled_from(("google", "google", "github"))), now)


def check_state(case: StateCase) -> str:
    """Check that the server accepts exactly the `state` values that were signed here, until they expire."""
    faults = _faults(case)
    try:
        state = oauth_state.read(case.text, KEYS, social=case.social)
        oauth_state.check_age(state, case.now)
    except Refused as refused:
        assert refused.code in faults, f"{refused}, but the faults are {sorted(faults)}"
        return str(refused.code)
    assert not faults, f"accepted in spite of {sorted(faults)}"
    assert state == case.made
    return ACCEPTED


def _faults(case: StateCase) -> set[str]:
    """Return the codes of all faults. A text with a valid signature must contain exactly the genuine `state`."""
    payload, _, mac = case.text.partition(".")
    signed = {b64(hmac.digest(key, payload.encode(), "sha256")) for key in KEYS}
    if len(case.text) > 1024 or mac not in signed:
        return {"state_invalid"}
    assert payload == b64(json.dumps([*_members(case.made)], separators=(",", ":")).encode())
    made = case.made
    return {
        *(["state_invalid"] if made.social != case.social or made.iat > case.now + 60 else []),
        *(["state_expired"] if case.now >= made.iat + 600 else []),
    }


def _members(state: State) -> tuple[object, ...]:
    return state.id, state.pid, state.social, state.origin, state.iat, state.nonce, state.jkt


def _otherwise(draw: Draw, key: bytes, made: State) -> str:
    """Sign a `state` incorrectly: with another key, over other bytes, with another hash, or with a shortened MAC."""
    payload = b64(json.dumps([*_members(made)], separators=(",", ":")).encode())
    what = draw(st.sampled_from((payload.encode(), payload.encode() + b".", b"", b"wrong")))
    mac = hmac.digest(key, what, draw(st.sampled_from((hashlib.sha256, hashlib.sha1, hashlib.sha512))))
    return f"{payload}.{b64(draw(st.sampled_from((mac, mac[:16], b''))))}"


def check_any_text(text: str) -> str:
    """Read a text that is not a `state`. The server must refuse the text."""
    with pytest.raises(Refused) as refused:
        oauth_state.read(text, KEYS, social="google")
    assert refused.value.code == "state_invalid"
    return "state_invalid"


PROPERTIES: Final = (
    Property("states", state_cases(), check_state),
    Property("texts as states", st.text(max_size=1100), check_any_text, both=False),
)
