"""A login after the code exchange. It sends requests with the access token and verifies the id_token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from chatkey_server.identity import encoding
from chatkey_server.social import id_token
from chatkey_server.social.failures import told
from chatkey_server.social.person import Unusable

if TYPE_CHECKING:
    from chatkey_server.clock import Now
    from chatkey_server.social.authlib_client import OAuthClient, httpx
    from chatkey_server.social.grant import Grant
    from chatkey_server.social.id_token_claims import Claims
    from chatkey_server.social.key_sets import KeySets
    from chatkey_server.social.provider import Json, SocialProvider
    from chatkey_server.storage.providers import Application

NOT_FOR_THIS_TOKEN: Final = frozenset({403, 404})


class ExchangedLogin:
    """Implements `provider.Login` for one person, from the response of the token endpoint."""

    def __init__(
        self,
        client: OAuthClient,
        social: SocialProvider,
        answer: Mapping[str, object],
        *,
        application: Application,
        grant: Grant,
        key_sets: KeySets,
        now: Now,
    ) -> None:
        self._client = client
        self._social = social
        access_token = _access_token(answer)
        self._authorized = {"Authorization": f"Bearer {access_token}"}
        self._proof = social.request_proof(application, access_token)
        self._id_token = answer.get("id_token")
        self._expected = id_token.Expected(
            issuers=social.accepted_issuers,
            client_id=application.client_id,
            nonce=grant.oidc_nonce,
            access_token=access_token,
        )
        self._extras = grant.extras
        self._key_sets = key_sets
        self._now = now

    @property
    def callback(self) -> Mapping[str, str]:
        return self._extras

    async def get(self, url: str, **query: str) -> Json:
        return _json_object(_json(await self._ask(url, {**query, **self._proof}, self._authorized)))

    async def get_list(self, url: str) -> list[Json] | None:
        answer = await self._ask(url, self._proof, self._authorized)
        if answer.status_code in NOT_FOR_THIS_TOKEN:
            return None
        rows = _json(answer)
        if not isinstance(rows, list):
            raise Unusable("the response is not a JSON list")
        return [_json_object(row) for row in rows]

    async def id_token_claims(self) -> Claims:
        """Return the claims of the verified id_token. If no known key fits, fetch the provider's keys once more."""
        token = self._id_token
        if not isinstance(token, str):
            with told(self._social, "token"):
                raise Unusable("the id_token is missing")
        for fresh in (False, True):
            with told(self._social, "keys"):
                keys = await self._key_sets.get(self._social.keys_url or "", self._published, fresh=fresh)
            try:
                with told(self._social, "id_token"):
                    return id_token.verify(token, keys, self._expected, now=self._now())
            except id_token.UnknownKey:
                continue
        with told(self._social, "id_token"):
            raise Unusable("the id_token is not signed with one of the provider's published keys")

    async def _published(self, url: str) -> Json:
        return _json_object(_json(await self._ask(url, {}, {})))

    async def _ask(self, url: str, query: Mapping[str, str], headers: Mapping[str, str]) -> httpx.Response:
        return await self._client.request(
            "GET",
            self._social.for_server(url),
            params=query,
            headers=headers,
            withhold_token=True,  # Authlib would treat a token with a lifetime of a minute or less as expired
        )


def _access_token(answer: Mapping[str, object]) -> str:
    """Return the bearer token from a token response (RFC 6749 5.1). Raises `Unusable`."""
    token, kind = answer.get("access_token"), answer.get("token_type")
    if not isinstance(token, str) or not token:
        raise Unusable("the access token is missing")
    if not (token.isascii() and token.isprintable()):
        raise Unusable("the access token contains characters that are not allowed")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise Unusable("the access token is not a bearer token")
    return token


def _json(answer: httpx.Response) -> object:
    """Return the decoded body of a successful response. Raises httpx's error for another status."""
    try:
        return encoding.json_value(answer.raise_for_status().content)
    except encoding.Malformed:
        raise Unusable("the response is not strict JSON") from None


def _json_object(value: object) -> Json:
    if not isinstance(value, Mapping):
        raise Unusable("the response is not a JSON object")
    return value
