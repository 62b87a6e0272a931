"""Reading and rewriting finished answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.http import Answer

SUBJECTS: Final = ("sub", "id", "user_id", "open_id", "resourceName")
"""What the providers call a person's id, in the order in which it is looked for."""

ENVELOPES: Final = ("data", "user")
"""Members in which a profile may be wrapped, from the outside in."""


def is_json(answer: Answer) -> bool:
    """Tell whether an answer has a JSON body."""
    return "json" in dict(answer.headers).get("content-type", "") and bool(answer.body)


def json_object(answer: Answer) -> dict[str, Any]:
    """The members of a JSON answer; none where it is not an object, or another fault has broken it."""
    try:
        body = msgspec.json.decode(answer.body) if is_json(answer) else None
    except msgspec.DecodeError:
        return {}
    return body if isinstance(body, dict) else {}


def with_headers(answer: Answer, *headers: tuple[str, str]) -> Answer:
    """An answer with headers set anew."""
    names = {name for name, _ in headers}
    return replace(answer, headers=(*(pair for pair in answer.headers if pair[0] not in names), *headers))


def unwrapped(members: dict[str, Any]) -> dict[str, Any]:
    """The profile itself, out of the envelope that some providers put it into."""
    for name in ENVELOPES:
        inner = members.get(name)
        members = inner if isinstance(inner, dict) else members
    return members


def subject_name(profile: dict[str, Any]) -> str | None:
    """What a profile calls the person's id; None where it is no profile."""
    return next((name for name in SUBJECTS if name in profile), None)


def change_profile(answer: Answer, change: Callable[[dict[str, Any], str], bool]) -> Answer | None:
    """A profile after `change`, which is given its members and the name of the subject, and says if it did anything."""
    members = json_object(answer)
    profile = unwrapped(members)
    name = subject_name(profile)
    if answer.status != 200 or name is None or not change(profile, name):
        return None
    return replace(answer, body=msgspec.json.encode(members))
