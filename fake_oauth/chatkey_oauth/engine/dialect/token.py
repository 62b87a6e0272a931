"""The token endpoint: how clients prove themselves, what is issued, and the words of every refusal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

from chatkey_oauth.engine.dialect.common import Common
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer
from chatkey_oauth.engine.refusals import Reason, TokenRefused, Words
from chatkey_oauth.engine.text import same
from chatkey_oauth.engine.world import Lives

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued


class TokenDialect(Common):
    """What the token endpoint takes, and what it answers."""

    basic_auth: ClassVar[bool] = True
    """Whether a client may prove itself by a Basic header; where not, the header is ignored."""
    body_auth: ClassVar[bool] = True
    """Whether a secret among the parameters counts."""
    json_bodies: ClassVar[bool] = False
    """Whether the parameters may come as JSON."""
    grant_type_required: ClassVar[bool] = True
    knows_machines: ClassVar[bool] = False
    """Whether an application gets a token of its own by its secret alone (RFC 6749 4.4)."""
    rotates: ClassVar[bool] = True
    """Whether a refresh token serves once and brings the next."""
    narrows: ClassVar[bool] = False
    """Whether a refresh may ask for fewer scopes than were granted, and for no more (RFC 6749 6)."""
    renews: ClassVar[bool] = False
    """Whether a refresh token that serves again brings another one all the same."""
    code_life: ClassVar[int] = 600
    access_life: ClassVar[int | None] = 3600
    refresh_life: ClassVar[int | None] = None
    code_shape: ClassVar[re.Pattern[str]] = re.compile(r".+", re.DOTALL)
    words: ClassVar[Mapping[Reason, Words]]
    """How each refusal is put that this provider has words for."""

    def lives(self) -> Lives:
        """How long what is issued now will live."""
        return Lives(self.code_life, self.access_life, self.refresh_life)

    def proves(self, client: Client, secret: str) -> bool:
        """Whether a secret proves a client. May raise `TokenRefused` to say why it does not."""
        return client.any_secret or same(client.client_secret, secret)

    def asks_proof(self, params: Mapping[str, str]) -> bool:
        """Whether a client has to prove itself for what it asks."""
        del params
        return True

    def token_params(self, call: Call) -> dict[str, str]:
        """The token request's parameters. Raises `TokenRefused` for a body of the wrong type."""
        if call.is_json and not self.json_bodies:
            raise TokenRefused(Reason.CONTENT_TYPE, "content-type")
        return call.form

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """The scopes of an application's own token: those asked for. Raises `TokenRefused`."""
        return asked

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """The scopes of a refreshed token, where that provider looks at those asked for. Raises `TokenRefused`."""
        whole = (grant.whole or grant).scopes
        if not self.narrows or not asked:
            return whole
        if not set(asked) <= set(whole):
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        return asked

    def owner(self) -> str:
        """The id of the person whose an application's own token is; empty: nobody's."""
        return ""

    def other_grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        """A grant type of this provider's own. Raises `TokenRefused` for one it does not know."""
        del client, params
        raise TokenRefused(Reason.GRANT_TYPE, "grant_type")

    def takes_back(self) -> bool:
        """Whether a code that comes twice takes back what it brought."""
        return False

    def before_issue(self, grant: Grant) -> None:
        """A last condition for a token in exchange for a code. Raises `TokenRefused`."""
        del grant

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """The members of the token answer; `id_token` is there where one is due."""
        body: dict[str, Any] = {"access_token": issued.access, "token_type": "Bearer"}
        if issued.expires_at is not None:
            body["expires_in"] = issued.expires_at - issued.issued_at
        if issued.refresh is not None:
            body["refresh_token"] = issued.refresh
        body["scope"] = self.scope_separator.join(issued.grant.scopes)
        return body if id_token is None else body | {"id_token": id_token}

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """An answer of the token endpoint, in the provider's encoding."""
        del call
        return json_answer(body, status, NO_STORE)

    def words_for(self, reason: Reason) -> Words:
        """How a refusal is put; what this provider never refuses for, such as JSON, in the words for a bad code."""
        return self.words.get(reason) or self.words[Reason.CODE_UNKNOWN]

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """A refusal of the token endpoint in the provider's words."""
        words = self.words_for(refusal.reason)
        body = {"error": words.error}
        if words.description is not None:
            body["error_description"] = words.description.replace("{member}", refusal.member)
        return self.token_answer(call, body, words.status)

    def new_code(self) -> str:
        """A fresh authorization code in the provider's format."""
        raise NotImplementedError

    def new_access_token(self) -> str:
        """A fresh access token in the provider's format."""
        raise NotImplementedError

    def new_refresh_token(self) -> str:
        """A fresh refresh token in the provider's format."""
        raise NotImplementedError


def say(words: Words, reasons: Iterable[Reason]) -> dict[Reason, Words]:
    """The same words for several reasons."""
    return dict.fromkeys(reasons, words)
