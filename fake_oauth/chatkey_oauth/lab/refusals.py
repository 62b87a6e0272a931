"""The lab's error responses. Each has a status, a code, and a message that names the invalid member and the remedy."""

from __future__ import annotations

from typing import Final

DOCUMENT: Final = "/lab/schema/openapi.json"


class LabRefused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def invalid(message: str) -> LabRefused:
    """Convert a message of msgspec, such as "Expected `int`, got `str` - at `$.times`", into a refusal."""
    what, _, member = message.partition(" - at `$")
    name = member.rstrip("`").lstrip(".") or "body"
    return LabRefused(400, "request_invalid", f"{name}: {what}. {DOCUMENT} describes valid requests.")
