"""An integrator's getToken endpoint: it names the signed-in user in a token that only this browser can use.

Copy this module. It needs PyJWT, the provider id and the provider's `secret_key`; which framework calls it does not
matter. The browser sends `{"jkt": …}`, the fingerprint of the widget's key, together with your session cookie.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import jwt

LIFETIME = 3600
JKT = re.compile(r"[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]")
"""SHA-256 in base64url: 43 characters, no padding. The last one encodes four bits, so only 16 values are possible."""


class InvalidRequestError(Exception):
    """The request is not one that the widget sends. Answer 400 with this message."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user who is signed in at your site. Only `id` is required; it must never change or be given to another user."""

    id: str
    name: str | None = None
    email: str | None = None
    avatar: str | None = None


class TokenBackend:
    """Answers the widget's requests for one provider. Create one instance and keep it while your process runs."""

    def __init__(self, provider_id: str, secret_key: str, *, now: Callable[[], float] = time.time) -> None:
        self._provider_id = provider_id
        self._secret_key = secret_key
        self._now = now

    def answer(self, body: object, person: Person | None) -> dict[str, str | None]:
        """Return the JSON to send back, with `Cache-Control: no-store`.

        `person` comes from your own session, never from the request's body. If nobody is signed in, pass None: with
        `{"token": null}` the widget's user stays a visitor. Raises `InvalidRequestError` if `jkt` is missing or
        malformed.
        """
        jkt = body.get("jkt") if isinstance(body, dict) else None
        if not isinstance(jkt, str) or not JKT.fullmatch(jkt):
            raise InvalidRequestError("jkt must be the 43 base64url characters that the widget passes to getToken")
        return {"token": self.token_for(person, jkt) if person else None}

    def token_for(self, person: Person, jkt: str) -> str:
        """Sign the socket token (contract 2.4): times in whole seconds, `jkt` inside `cnf`."""
        issued = int(self._now())
        shown = {"name": person.name, "email": person.email, "avatar": person.avatar}
        claims = {
            "pid": self._provider_id,
            "uid": person.id,
            "type": "user",
            "cnf": {"jkt": jkt},
            "iat": issued,
            "exp": issued + LIFETIME,
            **{claim: value for claim, value in shown.items() if value},
        }
        return jwt.encode(claims, self._secret_key, algorithm="HS256")
