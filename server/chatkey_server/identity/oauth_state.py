"""Signs and verifies the state of a social login (contract 5.7, D-05, D-07). A state is valid once, for ten minutes."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final

import msgspec

from chatkey_protocol.codes import Code
from chatkey_server.identity import encoding
from chatkey_server.identity.claims import LEEWAY_SECONDS
from chatkey_server.identity.errors import Refused

LIFETIME_SECONDS: Final = 600
MAX_STATE_CHARS: Final = 1024


class State(msgspec.Struct, frozen=True, array_like=True):
    """The data that the callback needs.

    The social provider returns the data unchanged. `id` names the login's database record. The data is encoded as an
    array, because some providers refuse a state of more than 500 characters.
    """

    id: str
    pid: str
    social: str
    origin: str
    iat: int
    nonce: str | None = None
    jkt: str | None = None


_read: Final = msgspec.json.Decoder(State).decode
_write: Final = msgspec.json.Encoder().encode


def mint(key: bytes, state: State) -> str:
    """Sign a state with the server's own key: base64url of its JSON, a dot, base64url of its HMAC-SHA256."""
    payload = encoding.encode(_write(state))
    return f"{payload}.{encoding.encode(_mac(key, payload))}"


def read(text: str, keys: Sequence[bytes], *, social: str) -> State:
    """Verify that this server made the state for `social`. Raises `Refused(state_invalid)`. The age is not checked.

    After this check, the result of the login may be sent to the opener that the state names, even if `check_age` fails.
    """
    state = _verified(text, keys)
    if state.social != social:
        raise _invalid(f"it belongs to a login with {state.social}, but this is the callback of {social}")
    return state


def check_age(state: State, now: float) -> None:
    """Raise `state_expired` for a state that is older than ten minutes (contract 8).

    Raise `state_invalid` for a state that is from the future.
    """
    age = now - state.iat
    if age < -LEEWAY_SECONDS:
        raise _invalid("its time is in the future")
    if age >= LIFETIME_SECONDS:
        raise Refused(Code.STATE_EXPIRED, "The sign-in took longer than 10 minutes; start it again.", member="state")


def _verified(text: str, keys: Sequence[bytes]) -> State:
    payload, dot, mac = text.partition(".")
    if not dot or len(text) > MAX_STATE_CHARS:
        raise _invalid("it was not made by this service")
    try:
        given, raw = encoding.decode(mac), encoding.decode(payload)
    except encoding.Malformed:
        raise _invalid("it was not made by this service") from None
    if not any(hmac.compare_digest(given, _mac(key, payload)) for key in keys):
        raise _invalid("it was altered, or was not made by this service")
    return _read(raw)


def _mac(key: bytes, payload: str) -> bytes:
    return hmac.digest(key, payload.encode(), "sha256")


def _invalid(why: str) -> Refused:
    return Refused(Code.STATE_INVALID, f"The state of this sign-in is invalid: {why}. Start again.", member="state")
