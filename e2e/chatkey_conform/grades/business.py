"""A business at a target, and the protocol that each grade implements to manage businesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class HarnessError(Exception):
    """The suite, an adapter or a lab has failed. The service under test is not at fault."""


@dataclass(frozen=True)
class Business:
    """What a business's backend knows: id, secret, registered origins and enabled social logins."""

    id: str
    secret_key: str = field(repr=False)
    origins: tuple[str, ...] = ()
    socials: tuple[str, ...] = ()


class Businesses(Protocol):
    """The protocol of a grade. The suite never calls a method whose capability the target does not declare.

    `wanted` and `changes` have the members of the profile `lab.v1`: `domains`, `socials` (a mapping from name to
    `key_source`, `enabled` and keys), `enabled`, `restrict_socket_origins`, `secret_key`, and texts of the widget.
    """

    def capabilities(self) -> frozenset[str]:
        """Return the capabilities that the adapter or lab reports for the service."""
        ...

    def prepared(self) -> tuple[Business, ...]:
        """Return the businesses that exist before the run."""
        ...

    def provision(self, wanted: Mapping[str, Any]) -> Business: ...

    def change(self, business: Business, changes: Mapping[str, Any]) -> None:
        """Change a business. The service may take up to a minute, by its own clock, to apply the change."""
        ...

    def remove(self, business: Business) -> None: ...

    def advance(self, seconds: float) -> None: ...

    def reset(self) -> None:
        """Reset the clock and the counters."""
        ...

    def members(self, business: Business) -> list[dict[str, Any]]:
        """Return the records of a business's members: `uid`, `login`, `auth_provider`, `name`, `email`."""
        ...

    def agent(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Act as an agent (`do`) in the conversation of `uid` at the business `id`, as docs/lab.md describes."""
        ...

    def close(self) -> None: ...
