"""A business at a target, and what a grade has to be able to do with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class HarnessError(Exception):
    """The suite, an adapter or a lab is at fault, and not the service that is judged."""


@dataclass(frozen=True)
class Business:
    """A business as its backend knows it: id, secret, the origins it registered, the social logins that are on."""

    id: str
    secret_key: str = field(repr=False)
    origins: tuple[str, ...] = ()
    socials: tuple[str, ...] = ()


class Businesses(Protocol):
    """A grade. What the target does not declare is never asked of it, so a verb may be missing behind it.

    `wanted` and `changes` have the members of the profile `lab.v1`: `domains`, `socials` (a mapping from name to
    `key_source`, `enabled` and keys), `enabled`, `restrict_socket_origins`, `secret_key`, and texts of the widget.
    """

    def capabilities(self) -> frozenset[str]:
        """Return what the adapter or lab says that the service can do."""
        ...

    def prepared(self) -> tuple[Business, ...]:
        """Return the businesses that are there without being asked for."""
        ...

    def provision(self, wanted: Mapping[str, Any]) -> Business:
        """Make a business."""
        ...

    def change(self, business: Business, changes: Mapping[str, Any]) -> None:
        """Change a business; the service may take a minute of its clock to know."""
        ...

    def remove(self, business: Business) -> None:
        """Take a business away."""
        ...

    def advance(self, seconds: float) -> None:
        """Move the service's clock forward."""
        ...

    def reset(self) -> None:
        """Put the clock back, and forget what was counted."""
        ...

    def members(self, business: Business) -> list[dict[str, Any]]:
        """Return the records of a business's members, each with `uid`, `login`, `auth_provider`, `name`, `email`."""
        ...

    def agent(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Do what an agent does (`do`: `read`, `answer` or `end`) in the conversation of `uid` at the business `id`."""
        ...

    def close(self) -> None:
        """Let go of what was opened."""
        ...
