"""Microsoft Graph: the user of an access token, and the refusals of Graph's API."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from chatkey_oauth.engine.refusals import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatkey_oauth.engine.people import Person

PREFIX: Final = "https://graph.microsoft.com/"
"""The resource of a scope that names no resource."""

EVERYTHING: Final = "/.default"
"""The suffix of a scope that stands for everything that was granted for a resource."""

OFFLINE: Final = "offline_access"
OF_OPENID: Final = frozenset({"openid", "profile", "email", OFFLINE})
"""The scopes that do not belong to a resource."""

READS_ME: Final = frozenset({"user.read", "user.readwrite", EVERYTHING[1:]})
"""The scopes that allow applications to read the user who has signed in."""

REFUSALS: Final = {
    # Quoted in github.com/microsoftgraph/msgraph-sample-reactspa/issues/54
    Problem.MISSING: (401, "InvalidAuthenticationToken", "Access token is empty."),
    # Quoted in github.com/MaikuB/flutter_appauth/issues/575, its first line
    Problem.UNKNOWN: (
        *(401, "InvalidAuthenticationToken"),
        "IDX14100: JWT is not well formed, there are no dots (.).",
    ),
    # Quoted in github.com/AzureAD/microsoft-identity-web/issues/3106
    Problem.EXPIRED: (401, "InvalidAuthenticationToken", "Lifetime validation failed, the token is expired."),
    # Our own words: no quotation is known.
    Problem.REVOKED: (401, "InvalidAuthenticationToken", "Access token has been revoked."),
    # Quoted in github.com/microsoftgraph/python-sample-auth/issues/12
    Problem.SCOPE: (403, "Authorization_RequestDenied", "Insufficient privileges to complete the operation."),
    # Quoted in github.com/pnp/pnpcore/pull/905
    Problem.NOBODY: (400, "BadRequest", "/me request is only valid with delegated authentication flow."),
}
"""The refusals: status, code and message."""


def user(person: Person, object_id: str, server: str) -> dict[str, Any]:
    return {
        "@odata.context": f"{server}/v1.0/$metadata#users/$entity",
        "businessPhones": [],
        "displayName": person.name,
        "givenName": person.given_name,
        "jobTitle": None,
        "mail": person.email,
        "mobilePhone": None,
        "officeLocation": None,
        "preferredLanguage": None,
        "surname": person.family_name,
        "userPrincipalName": person.email or person.login,
        "id": object_id,
    }


def refusal(problem: Problem, now: float, request_id: str, client_request_id: str) -> tuple[int, dict[str, Any]]:
    status, code, message = REFUSALS[problem]
    # Quoted in github.com/MaikuB/flutter_appauth/issues/575
    inner = {
        "date": f"{datetime.fromtimestamp(now, UTC):%Y-%m-%dT%H:%M:%S}",
        "request-id": request_id,
        "client-request-id": client_request_id,
    }
    return status, {"error": {"code": code, "message": message, "innerError": inner}}


def resource_scopes(scopes: Iterable[str]) -> set[str]:
    """Return the scopes that belong to a resource, in lower case and without Graph's prefix."""
    return {scope.removeprefix(PREFIX).casefold() for scope in scopes if scope not in OF_OPENID}
