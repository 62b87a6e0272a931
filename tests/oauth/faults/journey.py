"""The answers of one login at the fake, up to the step where the login ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import jwt
import msgspec
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.http import Answer
from chatkey_oauth.faults.rules import Rule

FLOW = re.compile(rb'name="flow" value="(f_[0-9a-f]{16})"')
MINE = "mine-0123456789abcdef"


class Journey(NamedTuple):
    state: str | None
    page: Answer
    back: Answer | None = None
    token: Answer | None = None
    profile: Answer | None = None

    @property
    def answers(self) -> list[Answer]:
        return [answer for answer in (self.page, self.back, self.token, self.profile) if answer is not None]

    @property
    def location(self) -> str:
        assert self.back is not None
        return dict(self.back.headers)["location"]

    @property
    def callback(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.location).query, keep_blank_values=True))

    @property
    def tokens(self) -> dict[str, Any]:
        return self._content(self.token)

    @property
    def person(self) -> dict[str, Any]:
        return self._content(self.profile)

    @property
    def header(self) -> dict[str, Any]:
        return jwt.get_unverified_header(self.tokens["id_token"])

    @property
    def claims(self) -> dict[str, Any]:
        """The claims of the id_token. The signature is not verified."""
        claims: dict[str, Any] = jwt.decode(self.tokens["id_token"], options={"verify_signature": False})
        return claims

    @staticmethod
    def _content(answer: Answer | None) -> dict[str, Any]:
        assert answer is not None
        members: dict[str, Any] = msgspec.json.decode(answer.body)
        return members


def travel(
    visitor: Visitor, *, state: str | None = MINE, person: str = "rhea", misbehave: Iterable[str] = (), **changes: str
) -> Journey:
    """Log in through all steps. Stop at the first answer that does not lead to a next step."""
    asked = {"nonce": "n-0123456789abcdef", "state": state, **changes}
    page = visitor.ask(**asked)
    flow = FLOW.search(page.body)
    if flow is None:
        return Journey(state, page)
    ticked = "".join(f"&misbehave={name}" for name in misbehave)
    form = f"account={person}&decision=approve&flow={flow[1].decode()}{ticked}"
    request = visitor.request(**asked)
    back = visitor.post("/consent", form.encode(), "&".join(f"{name}={value}" for name, value in request.items()))
    journey = Journey(state, page, back)
    if back.status != 302 or "code" not in journey.callback:
        return journey
    token = visitor.redeem(journey.callback["code"])
    journey = Journey(state, page, back, token)
    if b'"access_token"' not in token.body or token.status != 200 or not readable(token):
        return journey
    return Journey(state, page, back, token, visitor.profile(journey.tokens.get("access_token") or ""))


def readable(answer: Answer) -> bool:
    """Return whether the body of an answer is complete JSON."""
    try:
        msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return False
    return True


Arm = Callable[..., Rule]
