"""What GitHub's API says: the user, the addresses, and the headers of every answer."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chatkey_oauth.engine.grants import Grant
    from chatkey_oauth.engine.http import Headers
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.world import Addresses


def user(number: int, person: Person, addresses: Addresses, avatar: str, now: int) -> dict[str, Any]:
    """The authenticated user. `email` is the public address, which nobody here has."""
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
        "updated_at": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def addresses(number: str, person: Person) -> list[dict[str, Any]]:
    """The person's own address, if there is one, and the one GitHub gives everybody."""
    given = f"{number}+{person.login}@users.noreply.github.com"
    rows: list[dict[str, Any]] = [{"email": given, "primary": False, "verified": True, "visibility": None}]
    if not person.email:
        return rows
    own = {"email": person.email, "primary": True, "verified": person.email_verified, "visibility": "private"}
    return [own, *rows]


def headers(grant: Grant | None, accepted: str, request_id: str, now: int) -> Headers:
    """What every answer carries; `accepted` names the scopes that would do. Without a token less is allowed."""
    limit = 5000 if grant else 60
    return (
        ("x-oauth-scopes", ", ".join(grant.scopes) if grant else ""),
        ("x-accepted-oauth-scopes", accepted),
        ("x-oauth-client-id", grant.client_id if grant else ""),
        ("x-github-media-type", "github.v3; format=json"),
        ("x-github-request-id", request_id),
        ("x-ratelimit-limit", str(limit)),
        ("x-ratelimit-remaining", str(limit - 1)),
        ("x-ratelimit-reset", str(now + 3600)),
        ("x-ratelimit-used", "1"),
        ("x-ratelimit-resource", "core"),
    )
