"""The answers of one login at the fake, up to the step where the login ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import jwt
import msgspec

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer


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
