"""The back channel of a social login: exchanges the callback's code and reads the person's data (contract 4.5).

This module is imported at the first login, because importing Authlib and httpx takes half a second.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from chatkey import __version__
from chatkey_server.social.authlib_client import open_client, posted_as
from chatkey_server.social.exchanged_login import ExchangedLogin
from chatkey_server.social.failures import told
from chatkey_server.social.key_sets import KeySets
from chatkey_server.social.person import Unusable
from chatkey_server.social.transport import BoundedTransport, judge

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager
    from ssl import SSLContext

    from chatkey_server.clock import Now
    from chatkey_server.social.authlib_client import OAuthClient
    from chatkey_server.social.grant import Grant
    from chatkey_server.social.person import Person
    from chatkey_server.social.provider import SocialProvider
    from chatkey_server.storage.providers import Application

PATIENCE_SECONDS: Final = 15.0
"""Timeout for all requests of one login together. Each network operation has a timeout of ten seconds."""
STEP_SECONDS: Final = 10.0

HEADERS: Final = {
    "User-Agent": f"chatkey/{__version__}",  # GitHub refuses requests without a User-Agent
    "Accept": "application/json",
    "Accept-Encoding": "identity",  # the limit on response sizes counts bytes as they are sent
}


class BackChannel:
    """Requests a person's data from social providers. One instance serves all logins and caches signing keys."""

    def __init__(self, now: Now, *, trusted: SSLContext, patience: float = PATIENCE_SECONDS) -> None:
        self._now = now
        self._trusted = trusted
        self._patience = patience
        self._key_sets = KeySets(now)

    async def person(self, social: SocialProvider, application: Application, grant: Grant) -> Person:
        """Exchange the code and read the person's data. Raises `Refused(oauth_failed)`; the cause names the stage."""
        with told(social, "login"):
            async with asyncio.timeout(self._patience), self._client(social, application, grant) as client:
                login = await self._exchange(client, social, application, grant)
                with told(social, "profile"):
                    return await social.read_person(login)

    def _client(
        self, social: SocialProvider, application: Application, grant: Grant
    ) -> AbstractAsyncContextManager[OAuthClient]:
        return open_client(
            client_id=application.client_id,
            client_secret=social.client_secret(application, self._now()),
            token_endpoint_auth_method=(
                social.client_auth
                if social.client_id_parameter == "client_id"
                else posted_as(social.client_id_parameter)
            ),
            redirect_uri=grant.redirect_uri,
            headers=HEADERS,
            timeout=STEP_SECONDS,
            transport=BoundedTransport(verify=self._trusted),
            event_hooks={"response": [judge]},
        )

    async def _exchange(
        self, client: OAuthClient, social: SocialProvider, application: Application, grant: Grant
    ) -> ExchangedLogin:
        """Exchange the code for tokens (RFC 6749 4.1.3)."""
        with told(social, "token"):
            answer = await _fetch(client, social, application.client_id, grant)
            return ExchangedLogin(
                client,
                social,
                answer,
                application=application,
                grant=grant,
                key_sets=self._key_sets,
                now=self._now,
            )


async def _fetch(client: OAuthClient, social: SocialProvider, client_id: str, grant: Grant) -> Mapping[str, object]:
    try:
        return await client.fetch_token(
            social.for_server(social.tokens_url),
            grant_type="authorization_code",  # otherwise Authlib guesses one
            code=grant.code,
            code_verifier=grant.verifier if social.pkce else None,
            client_id=client_id if social.client_auth == "client_secret_basic" else None,  # X may want it in the body
        )
    except (ValueError, TypeError, RecursionError):  # what Authlib raises if the body is no token response
        raise Unusable("the response is not a JSON object with an access token") from None
