"""Properties of tokens that integrators, widgets or attackers might send.

The service in Node also reads these tokens.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st
from tests.server.properties.kit.properties import Property, agree
from tests.server.properties.kit.shaken import Draw, b64, compact, moments, shaken_object, shaken_text

from chatkey_server.identity import tokens
from chatkey_server.identity.tokens import Secrets

PID: Final = "prov_a"
SECRET: Final = b"the-secret-key-of-a-provider-0123456789"
PREVIOUS: Final = b"the-secret-key-before-that-9876543210"
JKT: Final = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
LIKELY_HEADERS: Final = {
    "alg": ("none", "None", "hs256", "HS384", "RS256", "ES256", ["HS256"]),
    "typ": ("jwt", "application/jwt", "at+jwt", "wf-proof+jwt", "JWE"),
    "crit": ([], ["b64"]),
    "b64": (True, False),
    "zip": ("DEF",),
    "enc": ("A256GCM",),
    "kid": ("1", "../../etc/passwd"),
    "jwk": ({"kty": "oct", "k": "AA"},),
}
HONEST_HEADER: Final = b'{"alg":"HS256","typ":"JWT"}'
SHAKEN_HEADERS: Final = shaken_object({"alg": "HS256", "typ": "JWT"}, LIKELY_HEADERS)


class TokenCase(NamedTuple):
    """A token, the time at which the server reads it, and the expected kind of token."""

    token: str
    now: float
    wanted: str = "socket"
    overlaps_until: int | None = None
    """Until when the previous secret is accepted as well."""

    @property
    def secrets(self) -> Secrets:
        """The provider's secrets in the server's own type."""
        return Secrets(SECRET) if self.overlaps_until is None else Secrets(SECRET, PREVIOUS, self.overlaps_until)

    @property
    def accepted(self) -> list[bytes]:
        """The secrets that the server must accept at this time."""
        overlaps = self.overlaps_until is not None and self.now < self.overlaps_until
        return [SECRET, PREVIOUS] if overlaps else [SECRET]


@st.composite
def token_cases(draw: Draw) -> TokenCase:
    """Generate a token. Most of the tokens have one fault."""
    now = draw(moments())
    kind = draw(st.sampled_from(("visitor", "custom", "social", "identity")))
    wrong = draw(st.sampled_from((None, "times", "claims", "claims", "header", "key", "text", "wanted")))
    claims = _honest_claims(kind, draw(_issued(kind, now)) if wrong == "times" else int(now))
    header = draw(SHAKEN_HEADERS) if wrong == "header" else HONEST_HEADER
    payload = draw(shaken_object(claims, _likely_claims(claims, now))) if wrong == "claims" else compact(claims)
    signed = f"{b64(header)}.{b64(payload)}"
    key = draw(st.sampled_from(_wrong_keys(claims))) if wrong == "key" else _right_key(claims)
    token = f"{signed}.{b64(hmac.digest(key, signed.encode(), 'sha256'))}"
    overlaps_until = draw(st.none() | st.integers(-1, 60).map(lambda after: int(now) + after))
    wanted = (kind == "identity") is not (wrong == "wanted")
    return TokenCase(
        draw(shaken_text(token)) if wrong == "text" else token, now, "identity" if wanted else "socket", overlaps_until
    )


def check_token(case: TokenCase) -> str:
    """Compare how the server and the service in Node read the token."""
    secrets = [secret.decode() for secret in case.accepted]
    return agree(
        lambda: _read(case), "token", token=case.token, pid=PID, secrets=secrets, now=case.now, wanted=case.wanted
    )


def check_any_text(text: str) -> str:
    """Read a text that is not a token. The server must refuse the text."""
    for wanted in ("socket", "identity"):
        check_token(TokenCase(text, 1_800_000_030, wanted))
    return "refused"


any_text = st.text(max_size=300) | st.lists(st.text("AQgwe30fQIiJ9_-", max_size=60), max_size=4).map(".".join)

PROPERTIES: Final = (
    Property("tokens", token_cases(), check_token),
    Property("texts as tokens", any_text, check_any_text, both=False),
)


def _read(case: TokenCase) -> list[object]:
    if case.wanted == "identity":
        read = tokens.read_identity_token(case.token, case.secrets, pid=PID, now=case.now)
        return [str(read.uid), "identity", read.jkt, read.expires_at]
    found = tokens.read_socket_token(case.token, case.secrets, pid=PID, now=case.now)
    return [found.uid, found.login, found.jkt, found.expires_at]


def _honest_claims(kind: str, issued: int) -> dict[str, Any]:
    if kind == "visitor":
        return {"pid": PID, "uid": f"v_{JKT}", "type": "visitor", "iat": issued, "exp": (issued // 60 + 2) * 60}
    claims: dict[str, Any] = {"pid": PID, "uid": "google:42", "type": "user", "iat": issued, "cnf": {"jkt": JKT}}
    if kind == "custom":
        return {**claims, "uid": "user-1", "exp": issued + 3600, "name": "Ada", "avatar": "https://shop.example/a.png"}
    if kind == "identity":
        claims["type"] = "identity"
    life = 120 if kind == "social" else 86_400
    return {**claims, "exp": issued + life, "data": {"auth_provider": "google", "avatar": None}}


def _issued(kind: str, now: float) -> st.SearchStrategy[int]:
    life = {"visitor": 60, "custom": 3600, "social": 120, "identity": 86_400}[kind]
    borders = (0, 0, -1, -30, -60, -61, -life + 1, -life, -life - 1, -119, -120, 59, 60, 61, 3600)
    return st.sampled_from(borders).map(lambda ago: int(now) + ago)


def _likely_claims(claims: dict[str, Any], now: float) -> dict[str, Any]:
    at = int(now)
    times = (at, at + 1, at - 1, at + 60, at + 61, at * 1000, claims["iat"] + 120, claims["iat"] + 121, str(at))
    return {
        "iat": times,
        "nbf": times,
        "exp": (
            *times,
            claims["iat"] + 7200,
            claims["iat"] + 7201,
            claims["iat"] + 86_400,
            claims["iat"] + 86_401,
            3600,
        ),
        "type": ("visitor", "user", "identity", "Visitor", "member"),
        "pid": ("prov_b", "prov_a ", "PROV_A"),
        "uid": (
            "google:42",
            "google:",
            ":42",
            "myspace:42",
            f"v_{JKT}",
            f"V_{JKT}",
            f"v_{JKT[:-1]}t",
            "a\u0000b",
            "x" * 255,
        ),
        "cnf": (
            {"jkt": JKT},
            {"jkt": JKT[:-1]},
            {"jkt": JKT[:-1] + "t"},
            {"jkt": JKT + "="},
            {"x5t": JKT},
            {"jkt": 5},
            JKT,
        ),
        "data": (
            {"auth_provider": "google"},
            {"auth_provider": "github"},
            {"avatar": 5},
            {"auth_provider": ["google"]},
        ),
    }


def _right_key(claims: dict[str, Any]) -> bytes:
    return _minute_key(SECRET, claims["iat"]) if claims["type"] == "visitor" else SECRET


def _wrong_keys(claims: dict[str, Any]) -> list[bytes]:
    minutes = [_minute_key(SECRET, claims["iat"] + off) for off in (0, -60, 60, 3600, 86_400)]
    copied = [SECRET + b"\n", SECRET[::-1], hashlib.sha256(SECRET).digest(), b""]
    return [SECRET, PREVIOUS, _minute_key(PREVIOUS, claims["iat"]), *minutes, *copied]


def _minute_key(secret: bytes, at: int) -> bytes:
    return hmac.digest(secret, time.strftime("%H:%M", time.gmtime(at)).encode(), "sha256")
