"""The data that GitHub's API returns: the user, the e-mail addresses, and the headers of every response."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.text import fingerprint

HOUR: Final = 60 * 60
MINUTE: Final = 60

LIMITS: Final = {
    "core": (5000, HOUR),
    "search": (30, MINUTE),
    "graphql": (5000, HOUR),
    "integration_manifest": (5000, HOUR),
    "source_import": (100, MINUTE),
    "code_scanning_upload": (5000, HOUR),
    "code_scanning_autofix": (10, MINUTE),
    "actions_runner_registration": (10000, HOUR),
    "scim": (15000, HOUR),
    "dependency_snapshots": (100, MINUTE),
    "dependency_sbom": (100, MINUTE),
    "code_search": (10, MINUTE),
}
"""Rate limits with a token: for each kind of request, the number of requests and the period in seconds."""

LIMITS_OF_NOBODY: Final = {
    "core": (60, HOUR),
    "search": (10, MINUTE),
    "graphql": (0, HOUR),
    "integration_manifest": (5000, HOUR),
}
"""Rate limits without a token."""

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.grants import Grant, Issued
    from chatkey_oauth.engine.http import Headers
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.world import Addresses


def user(number: int, person: Person, addresses: Addresses, avatar: str) -> dict[str, Any]:
    """Return the authenticated user. `email` is the public address, which is always None here."""
    api = f"{addresses.server}/users/{person.login}"
    return {
        "login": person.login,
        "id": number,
        "node_id": b64encode(f"04:User{number}".encode()).decode(),
        "avatar_url": avatar,
        "gravatar_id": "",
        "url": api,
        "html_url": f"{addresses.browser}/{person.login}",
        "followers_url": f"{api}/followers",
        "following_url": f"{api}/following{{/other_user}}",
        "gists_url": f"{api}/gists{{/gist_id}}",
        "starred_url": f"{api}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{api}/subscriptions",
        "organizations_url": f"{api}/orgs",
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events{{/privacy}}",
        "received_events_url": f"{api}/received_events",
        "type": "User",
        "user_view_type": "private",
        "site_admin": False,
        "name": person.name,
        "company": None,
        "blog": "",
        "location": None,
        "email": None,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "notification_email": None,
        "public_repos": 3,
        "public_gists": 0,
        "followers": 2,
        "following": 1,
        "created_at": "2014-11-15T13:01:25Z",
        "updated_at": "2026-11-15T13:01:25Z",
    }


def addresses(number: str, person: Person) -> list[dict[str, Any]]:
    """Return the person's address, if there is one, and the noreply address that GitHub gives to everyone."""
    given = f"{number}+{person.login}@users.noreply.github.com"
    rows: list[dict[str, Any]] = [{"email": given, "primary": False, "verified": True, "visibility": None}]
    if not person.email:
        return rows
    own = {"email": person.email, "primary": True, "verified": person.email_verified, "visibility": "private"}
    return [own, *rows]


def authorization(issued: Issued, client: Client, person: dict[str, Any], places: Addresses) -> dict[str, Any]:
    """Return the description of a token for the application that owns the token."""
    number = int(fingerprint(issued.access, 8), 16)
    return {
        "id": number,
        "url": f"{places.server}/authorizations/{number}",
        "scopes": list(issued.grant.scopes),
        "token": issued.access,
        "token_last_eight": issued.access[-8:],
        "hashed_token": fingerprint(issued.access, 64),
        "app": {"client_id": client.client_id, "name": client.title, "url": client.redirect_uris[0]},
        "note": None,
        "note_url": None,
        "updated_at": zulu(issued.issued_at),
        "created_at": zulu(issued.issued_at),
        "fingerprint": None,
        "expires_at": None if issued.expires_at is None else zulu(issued.expires_at),
        "user": person,
    }


def rates(grant: Grant | None, now: int) -> dict[str, Any]:
    """Return the remaining requests of each kind. `rate` is an older name of `core`."""
    kinds = limits_of(grant)
    resources = {name: left(*kind, now, used=1 if name == "core" else 0) for name, kind in kinds.items()}
    return {"resources": resources, "rate": resources["core"]}


def limits_of(grant: Grant | None) -> Mapping[str, tuple[int, int]]:
    """Return the rate limits for requests with a token. If `grant` is None, return the limits without a token."""
    return LIMITS if grant else LIMITS_OF_NOBODY


def left(limit: int, seconds: int, now: int, *, used: int) -> dict[str, int]:
    return {"limit": limit, "used": used, "remaining": limit - used, "reset": now + seconds}


def tagged(answer: Answer, known: str | None) -> Answer:
    """Add an ETag to a successful response (RFC 9110 8.8.3). If the client already has this version, return 304."""
    if answer.status != 200:
        return answer
    tag = f'W/"{sha256(answer.body).hexdigest()}"'
    headers = (("cache-control", "private, max-age=60, s-maxage=60"), ("vary", "Accept, Authorization"), ("etag", tag))
    if known is not None and known.removeprefix("W/") == tag.removeprefix("W/"):
        return Answer(304, headers=headers)
    return msgspec.structs.replace(answer, headers=(*answer.headers, *headers))


def zulu(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def headers(grant: Grant | None, accepted: str, request_id: str, now: int) -> Headers:
    """Return the headers of every response. `accepted` lists the accepted scopes. Limits are lower without a token."""
    core = left(*limits_of(grant)["core"], now, used=1)
    return (
        ("x-oauth-scopes", ", ".join(grant.scopes) if grant else ""),
        ("x-accepted-oauth-scopes", accepted),
        ("x-oauth-client-id", grant.client_id if grant else ""),
        ("x-github-media-type", "github.v3; format=json"),
        ("x-github-request-id", request_id),
        *((f"x-ratelimit-{name}", str(core[name])) for name in ("limit", "remaining", "reset", "used")),
        ("x-ratelimit-resource", "core"),
    )
