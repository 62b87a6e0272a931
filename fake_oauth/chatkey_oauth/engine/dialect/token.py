"""The token endpoint: client authentication, issued tokens, and the wording of all refusals."""

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
    """What the token endpoint accepts, and how it responds."""

    basic_auth: ClassVar[bool] = True
    """Whether clients may authenticate with a Basic header. If not, the provider ignores the header."""
    body_auth: ClassVar[bool] = True
    """Whether clients may send their secret as a parameter."""
    json_bodies: ClassVar[bool] = False
    """Whether the request body may be JSON."""
    grant_type_required: ClassVar[bool] = True
    knows_machines: ClassVar[bool] = False
    """Whether an application can get a token for itself with its secret alone (RFC 6749 4.4)."""
    rotates: ClassVar[bool] = True
    """Whether each refresh token can be used only once. A new refresh token then replaces the used one."""
    narrows: ClassVar[bool] = False
    """Whether a refresh request may ask for fewer scopes. If so, a request for more scopes is refused (RFC 6749 6)."""
    renews: ClassVar[bool] = False
    """Whether a refresh returns a new refresh token although the old one stays valid."""
    code_life: ClassVar[int] = 600
    access_life: ClassVar[int | None] = 3600
    refresh_life: ClassVar[int | None] = None
    code_shape: ClassVar[re.Pattern[str]] = re.compile(r".+", re.DOTALL)
    words: ClassVar[Mapping[Reason, Words]]
    """The provider's wording of refusals, by reason. A reason without an entry has the wording for an invalid code."""

    def lives(self) -> Lives:
        return Lives(self.code_life, self.access_life, self.refresh_life)

    def proves(self, client: Client, secret: str) -> bool:
        """Return whether a secret belongs to the client. May raise `TokenRefused` with a more specific reason."""
        return client.any_secret or same(client.client_secret, secret)

    def token_params(self, call: Call) -> dict[str, str]:
        """Return the parameters of the token request. Raises `TokenRefused` if the body has a wrong content type."""
        if call.is_json and not self.json_bodies:
            raise TokenRefused(Reason.CONTENT_TYPE, "content-type")
        return call.form

    def machine_scopes(self, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes of a token for the application itself.

        By default, they are the requested scopes. Raises `TokenRefused`.
        """
        return asked

    def refreshed_scopes(self, grant: Grant, asked: tuple[str, ...]) -> tuple[str, ...]:
        """Return the scopes of a refreshed token. If `narrows` is set, the request can reduce the scopes.

        Raises `TokenRefused`.
        """
        whole = (grant.whole or grant).scopes
        if not self.narrows or not asked:
            return whole
        if not set(asked) <= set(whole):
            raise TokenRefused(Reason.SCOPE_NOT_GRANTED, "scope")
        return asked

    def owner(self) -> str:
        """Return the id of the person who owns a token for the application itself, or an empty string."""
        return ""

    def other_grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        """Handle a grant type that only this provider has. Raises `TokenRefused` for an unknown grant type."""
        del client, params
        raise TokenRefused(Reason.GRANT_TYPE, "grant_type")

    def takes_back(self) -> bool:
        """Return whether a second use of a code revokes the tokens from the first use."""
        return False

    def before_issue(self, grant: Grant) -> None:
        """Check a last condition before a code is exchanged for a token. Raises `TokenRefused`."""
        del grant

    def token_body(self, issued: Issued, id_token: str | None) -> dict[str, Any]:
        """Return the members of the token response. If the response has no id_token, `id_token` is None."""
        body: dict[str, Any] = {"access_token": issued.access, "token_type": "Bearer"}
        if issued.expires_at is not None:
            body["expires_in"] = issued.expires_at - issued.issued_at
        if issued.refresh is not None:
            body["refresh_token"] = issued.refresh
        body["scope"] = self.scope_separator.join(issued.grant.scopes)
        return body if id_token is None else body | {"id_token": id_token}

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """Encode a response of the token endpoint in the provider's format."""
        del call
        return json_answer(body, status, NO_STORE)

    def words_for(self, reason: Reason) -> Words:
        """Return the wording of a refusal.

        If this provider does not distinguish the reason, return the wording for an invalid code.
        """
        return self.words.get(reason) or self.words[Reason.CODE_UNKNOWN]

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """Return the token endpoint's error response in the provider's words."""
        words = self.words_for(refusal.reason)
        body = {"error": words.error}
        if words.description is not None:
            body["error_description"] = words.description.replace("{member}", refusal.member)
        return self.token_answer(call, body, words.status)

    def new_code(self) -> str:
        """Return a new authorization code in the provider's format."""
        raise NotImplementedError

    def access_token(self, grant: Grant, expires_at: int | None) -> str:
        """Return a new access token for a grant."""
        del grant, expires_at
        return self.new_access_token()

    def new_access_token(self) -> str:
        """Return a new access token in the provider's format."""
        raise NotImplementedError

    def new_refresh_token(self) -> str:
        """Return a new refresh token in the provider's format."""
        raise NotImplementedError


def say(words: Words, reasons: Iterable[Reason]) -> dict[Reason, Words]:
    return dict.fromkeys(reasons, words)
