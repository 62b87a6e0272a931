"""Reads and changes complete responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.http import Answer

SUBJECTS: Final = ("sub", "id", "user_id", "open_id", "resourceName")
"""The names that providers use for the id of a person, in the order in which they are looked up."""

ENVELOPES: Final = ("data", "user")
"""Members in which a provider may wrap the profile, outermost first."""


def is_json(answer: Answer) -> bool:
    return "json" in dict(answer.headers).get("content-type", "") and bool(answer.body)


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the members of a JSON object.

    The result is empty if the body is not a JSON object, for example because another fault has broken it.
    """
    try:
        body = msgspec.json.decode(answer.body) if is_json(answer) else None
    except msgspec.DecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def with_headers(answer: Answer, *headers: tuple[str, str]) -> Answer:
    names = {name for name, _ in headers}
    return replace(answer, headers=(*(pair for pair in answer.headers if pair[0] not in names), *headers))


def unwrapped(members: dict[str, Any]) -> dict[str, Any]:
    """Return the profile without the envelope that some providers put around it."""
    for name in ENVELOPES:
        inner = members.get(name)
        members = inner if isinstance(inner, dict) else members
    return members


def subject_name(profile: dict[str, Any]) -> str | None:
    """Return the name of the member with the person's id, or None if this is not a profile."""
    return next((name for name in SUBJECTS if name in profile), None)


def change_profile(answer: Answer, change: Callable[[dict[str, Any], str], bool]) -> Answer | None:
    """Apply `change` to a profile, and return the new response. Return None if nothing changed.

    `change` is called with the members of the profile and the name of the subject. `change` returns true if it has
    changed the members.
    """
    members = json_object(answer)
    profile = unwrapped(members)
    name = subject_name(profile)
    if answer.status != 200 or name is None or not change(profile, name):
        return None
    return replace(answer, body=msgspec.json.encode(members))
