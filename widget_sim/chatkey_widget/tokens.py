"""Reads tokens without verifying signatures.

The widget reads enough to refuse what the server would refuse, and to say why.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from chatkey_protocol.names import MAX_TOKEN_BYTES
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.json_text import read_json

MILLISECONDS: Final = 100_000_000_000
"""The largest time in seconds (the year 5138). Anything above is assumed to be in milliseconds."""

_COMPACT: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a token that the widget uses (contract 2.4, 2.5, D-05). Times are seconds since the epoch."""

    type: str
    pid: str
    uid: str
    expires_at: int
    issued_at: int | None = None
    jkt: str | None = None
    name: str | None = None
    email: str | None = None
    avatar: str | None = None
    auth_provider: str | None = None
    payload: Mapping[str, object] = field(default_factory=dict, repr=False)
    """All claims, for debugging."""


def read(token: str) -> Claims:
    """Read the claims of a token.

    Raises `WidgetError`, which names the member at fault, if the token is too large or malformed, or has wrong claims.
    """
    payload = _payload(token)
    data = _object(payload, "data")
    return Claims(
        type=_text(payload, "type"),
        pid=_text(payload, "pid"),
        uid=_text(payload, "uid"),
        expires_at=_seconds(payload, "exp"),
        issued_at=_seconds(payload, "iat") if "iat" in payload else None,
        jkt=_optional(_object(payload, "cnf"), "jkt"),
        name=_optional(payload, "name"),
        email=_optional(payload, "email"),
        avatar=_optional(payload, "avatar") or _optional(data, "avatar"),
        auth_provider=_optional(data, "auth_provider"),
        payload=payload,
    )


def check_binding(claims: Claims, *, pid: str, jkt: str) -> None:
    """Refuse a member's token that is for another provider or another key (contract 2.4, D-06, D-07)."""
    if claims.pid != pid:
        raise WidgetError(Fault.TOKEN_CLAIMS, f"pid is {claims.pid!r}, but this widget belongs to provider {pid!r}.")
    if claims.jkt is None:
        hint = " A claim named 'cnf.jkt' does not count: cnf must be an object." if "cnf.jkt" in claims.payload else ""
        raise WidgetError(Fault.TOKEN_CLAIMS, f"cnf.jkt is missing, so the token is not bound to a key.{hint}")
    if claims.jkt != jkt:
        raise WidgetError(
            Fault.TOKEN_KEY_MISMATCH, f"cnf.jkt is {claims.jkt!r}, but this browser's key has the thumbprint {jkt!r}."
        )


def check_time(claims: Claims, *, now: float, margin: float = 0) -> None:
    """Refuse a token that has expired, or that expires within `margin` seconds. `now` is the server's time."""
    left = claims.expires_at - now
    if left > margin:
        return
    ago = f"expired {-left:.0f} s ago" if left <= 0 else f"expires in {left:.0f} s"
    raise WidgetError(Fault.TOKEN_EXPIRED, f"The token {ago}: exp is {claims.expires_at}, the time is {now:.0f}.")


def _payload(token: str) -> dict[str, object]:
    _check_form(token)
    segment = token.split(".")[1]
    try:
        raw = base64.b64decode(segment + "=" * (-len(segment) % 4), altchars=b"-_", validate=True)
        payload = read_json(raw.decode("utf-8"))
    except (binascii.Error, ValueError):
        raise WidgetError(Fault.TOKEN_MALFORMED, "The token's payload is not base64url of a JSON object.") from None
    if not isinstance(payload, dict):
        raise WidgetError(Fault.TOKEN_MALFORMED, "The token's payload is JSON, but not an object.")
    return payload


def _check_form(token: str) -> None:
    if not token.strip():
        raise WidgetError(Fault.TOKEN_EMPTY, "The token is an empty string.")
    if len(token) > MAX_TOKEN_BYTES:
        raise WidgetError(
            Fault.TOKEN_TOO_LARGE, f"The token has {len(token)} characters; the limit is {MAX_TOKEN_BYTES}."
        )
    if _COMPACT.fullmatch(token) is None:
        raise WidgetError(Fault.TOKEN_MALFORMED, f"The token is not a JWT (header.payload.signature): {_guess(token)}")


def _guess(token: str) -> str:
    stripped = token.strip()
    guesses = (
        (stripped in {"null", "undefined", "None", "false"}, f"it is the string {stripped[:9]!r}; return null itself."),
        (stripped.startswith("[object"), "it is an object converted to a string; return its member token."),
        (stripped.startswith(("{", '"')), "it is JSON that was encoded twice; decode it and return the token inside."),
        (stripped != token, "there is white space before or after it."),
        (stripped.lower().startswith("bearer "), "it begins with 'Bearer '."),
        ("=" in token, "it contains '=' padding, which JWTs omit."),
    )
    standard = f"it has {token.count('.') + 1} parts and {len(token)} characters."
    return next((guess for fits, guess in guesses if fits), standard)


def _text(payload: Mapping[str, object], member: str) -> str:
    value = payload.get(member)
    if isinstance(value, str) and value:
        return value
    raise WidgetError(Fault.TOKEN_CLAIMS, f"{member} must be a non-empty string, but {_found(payload, member)}.")


def _seconds(payload: Mapping[str, object], member: str) -> int:
    value = payload.get(member)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise WidgetError(
            Fault.TOKEN_CLAIMS, f"{member} must be whole seconds since 1970, but {_found(payload, member)}."
        )
    if value > MILLISECONDS:
        raise WidgetError(Fault.TOKEN_CLAIMS, f"{member} is {value}, which looks like milliseconds; divide by 1000.")
    return value


def _optional(payload: Mapping[str, object], member: str) -> str | None:
    value = payload.get(member)
    return value if isinstance(value, str) and value else None


def _object(payload: Mapping[str, object], member: str) -> Mapping[str, object]:
    value = payload.get(member)
    return value if isinstance(value, dict) else {}


def _found(payload: Mapping[str, object], member: str) -> str:
    if member not in payload:
        return "it is missing"
    value = payload[member]
    return f"it is {json.dumps(value)[:60]}" if value != "" else "it is empty"
