"""Google's People API: the data about the person of a token, and the format of errors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from chatkey_oauth.engine.http import Answer, json_answer

FIELDS = ("names", "photos", "emailAddresses")
MASK_MISSING = (
    "personFields mask is required. Please specify one or more valid paths. "
    "Valid paths are documented at https://developers.google.com/people/api/rest/v1/people/get."
)


def answer(claims: Mapping[str, Any], fields: Collection[str]) -> Answer:
    """Return the person with the requested fields. Unknown fields and fields without permission are omitted."""
    if not fields:
        return refusal(400, MASK_MISSING, "INVALID_ARGUMENT")
    subject = claims["sub"]
    everything = {
        "names": names(claims),
        "photos": entry(subject, {"url": claims.get("picture")}),
        "emailAddresses": addresses(claims),
    }
    known = {name: everything[name] for name in FIELDS if name in fields and everything[name]}
    return json_answer({"resourceName": f"people/{subject}", "etag": f"%EgM{subject[:8]}", **known})


def names(claims: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = {
        "displayName": claims.get("name"),
        "familyName": claims.get("family_name"),
        "givenName": claims.get("given_name"),
    }
    return entry(claims["sub"], parts)


def addresses(claims: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the account's e-mail address. `verified` is present only if it is true."""
    verified = {"verified": True} if claims.get("email_verified") else {}
    return entry(claims["sub"], {"value": claims.get("email")}, source="ACCOUNT", **verified)


def entry(subject: str, values: Mapping[str, Any], *, source: str = "PROFILE", **marks: bool) -> list[dict[str, Any]]:
    """Return a list with the one value. If there is no value, return an empty list."""
    known = {name: value for name, value in values.items() if value is not None}
    if not known:
        return []
    return [{"metadata": {"primary": True, **marks, "source": {"type": source, "id": subject}}, **known}]


def refusal(code: int, message: str, status: str, headers: Iterable[tuple[str, str]] = ()) -> Answer:
    return json_answer({"error": {"code": code, "message": message, "status": status}}, code, headers)
