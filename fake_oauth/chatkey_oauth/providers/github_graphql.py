"""GitHub's GraphQL query `viewer`, in the form that login libraries send: fields without arguments.

Source: docs.github.com/graphql/reference/queries and docs.github.com/graphql/reference/objects#user. The form of the
errors: github.com/octokit/graphql.js, README.md, "Errors".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

VIEWER: Final = re.compile(r"(?:query(?:\s+\w+)?\s*)?\{\s*viewer\s*\{(?P<fields>[\w\s,]+)\}\s*\}\s*")

FIELDS: Final[Mapping[str, Callable[[Mapping[str, Any]], Any]]] = {
    "login": lambda user: user["login"],
    "id": lambda user: user["node_id"],
    "databaseId": lambda user: user["id"],
    "name": lambda user: user["name"],
    "email": lambda user: user["email"] or "",
    "avatarUrl": lambda user: user["avatar_url"],
    "url": lambda user: user["html_url"],
    "createdAt": lambda user: user["created_at"],
    "bio": lambda user: user["bio"],
    "company": lambda user: user["company"],
    "location": lambda user: user["location"],
    "__typename": lambda _: "User",
}
"""The fields of the type `User`, from the user of the REST API. `email` is the public address."""


def answer(query: str, user: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response to a query. A query that the fake does not know gets an error, with the status 200."""
    found = VIEWER.fullmatch(query.strip())
    if found is None:
        return {"errors": [{"message": "The fake only knows queries of the form { viewer { login name } }."}]}
    names = re.findall(r"\w+", found["fields"])
    if unknown := [name for name in names if name not in FIELDS]:
        return {"errors": [undefined(name) for name in unknown]}
    return {"data": {"viewer": {name: FIELDS[name](user) for name in names}}}


def undefined(field: str) -> dict[str, Any]:
    return {
        "path": ["query", "viewer", field],
        "extensions": {"code": "undefinedField", "typeName": "User", "fieldName": field},
        "message": f"Field '{field}' doesn't exist on type 'User'",
    }
