"""Authlib's OAuth client, and the httpx module that Authlib uses.

Authlib uses httpx2 if it is installed, otherwise httpx. Exceptions and transports must come from the same module.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, cast

from authlib.common.urls import add_params_to_qs  # type: ignore[import-untyped]
from authlib.deprecate import AuthlibDeprecationWarning  # type: ignore[import-untyped]

# Importing Authlib enables its warnings for everyone. This warning asks for httpx2, but httpx is pinned.
warnings.filterwarnings("ignore", "The httpx module is deprecated", AuthlibDeprecationWarning)

from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]  # noqa: E402
from authlib.integrations.httpx_client import (  # type: ignore[import-untyped]  # noqa: E402
    AsyncOAuth2Client,
    oauth2_client,
)

if TYPE_CHECKING:
    import httpx
else:
    httpx = oauth2_client.httpx2

__all__ = ["OAuthClient", "OAuthError", "httpx", "open_client", "posted_as"]


class OAuthClient(Protocol):
    """The methods of `AsyncOAuth2Client` that the server uses."""

    async def fetch_token(
        self, url: str, *, grant_type: str, code: str, code_verifier: str | None, client_id: str | None
    ) -> Mapping[str, object]:
        """Exchange a code at the token endpoint (RFC 6749 4.1.3). Parameters that are None are not sent."""
        ...

    async def request(
        self, method: str, url: str, *, params: Mapping[str, str], headers: Mapping[str, str], withhold_token: bool
    ) -> httpx.Response:
        """Request a resource. With `withhold_token` Authlib does not add the access token."""
        ...


def open_client(**options: Any) -> AbstractAsyncContextManager[OAuthClient]:
    """Return a client for one login. A client stores the tokens of its login, so it cannot be shared."""
    return cast("AbstractAsyncContextManager[OAuthClient]", AsyncOAuth2Client(**options))


def posted_as(client_id_parameter: str) -> Callable[..., tuple[str, httpx.Headers, str]]:
    """Return the `client_secret_post` authentication method for providers that use another name for `client_id`."""

    def authenticate(
        client: Any, _method: str, uri: str, headers: httpx.Headers, body: bytes
    ) -> tuple[str, httpx.Headers, str]:
        keys = [(client_id_parameter, client.client_id), ("client_secret", client.client_secret)]
        return uri, headers, add_params_to_qs(body.decode(), keys)

    return authenticate
