"""Reads and changes finished responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.http import Answer

SUBJECTS: Final = ("sub", "id", "user_id", "open_id", "resourceName")
"""The providers' names for a person's id, in the order in which they are looked up."""

ENVELOPES: Final = ("data", "user")
"""Members in which a provider may wrap the profile, outermost first."""


def is_json(answer: Answer) -> bool:
    """Return whether a response has a JSON body."""
    return "json" in dict(answer.headers).get("content-type", "") and bool(answer.body)


def json_object(answer: Answer) -> dict[str, Any]:
    """Return the members of a JSON object. Empty if the body is not one, for example because another fault broke it."""
    try:
        body = msgspec.json.decode(answer.body) if is_json(answer) else None
    except msgspec.DecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def with_headers(answer: Answer, *headers: tuple[str, str]) -> Answer:
    """Return a response with these headers replaced."""
    names = {name for name, _ in headers}
    return replace(answer, headers=(*(pair for pair in answer.headers if pair[0] not in names), *headers))


def unwrapped(members: dict[str, Any]) -> dict[str, Any]:
    """Return the profile itself, without the envelope that some providers wrap it in."""
    for name in ENVELOPES:
        inner = members.get(name)
        members = inner if isinstance(inner, dict) else members
    return members


def subject_name(profile: dict[str, Any]) -> str | None:
    """Return the profile's name for the person's id, or None if this is not a profile."""
    return next((name for name in SUBJECTS if name in profile), None)


def change_profile(answer: Answer, change: Callable[[dict[str, Any], str], bool]) -> Answer | None:
    """Apply `change` to a profile and return the new response, or None if nothing changed.

    `change` gets the profile's members and the name of the subject, and returns whether it changed anything.
    """
    members = json_object(answer)
    profile = unwrapped(members)
    name = subject_name(profile)
    if answer.status != 200 or name is None or not change(profile, name):
        return None
    return replace(answer, body=msgspec.json.encode(members))
