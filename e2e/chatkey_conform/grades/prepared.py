"""Grade `prepared`: uses one to three businesses that were created by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NoReturn

from chatkey_conform.capabilities import NotApplicable, declared, socials
from chatkey_conform.grades.business import Business
from chatkey_conform.target import Prepared, Target, TargetError

NOT_BY_HAND = {"businesses", "change", "clock", "faults", "member-records", "agent"}
"""Capabilities that businesses created by hand cannot have."""


class PreparedBusinesses:
    """The businesses listed in TARGET.toml. Raises `TargetError` if the environment lacks a secret of one of them."""

    def __init__(self, target: Target, environ: Mapping[str, str] = os.environ) -> None:
        have = declared(target.service.have or ())
        if wrong := sorted(have & NOT_BY_HAND):
            raise TargetError(
                f"target.have contains {wrong[0]!r}, which needs an adapter (grade `command`) or a lab (grade `lab`)."
            )
        self._have = have
        self._prepared = tuple(self._made(given, environ) for given in target.document.businesses.prepared)

    def _made(self, given: Prepared, environ: Mapping[str, str]) -> Business:
        secret = environ.get(given.secret_key_env, "")
        if not secret:
            raise TargetError(
                f"The environment variable {given.secret_key_env}, for the secret_key of {given.id!r}, is not set."
            )
        enabled = socials(self._have) if given.socials is None else tuple(given.socials)
        return Business(given.id, secret, tuple(given.origins), enabled)

    def capabilities(self) -> frozenset[str]:
        return self._have

    def prepared(self) -> tuple[Business, ...]:
        return self._prepared

    def provision(self, wanted: Mapping[str, Any]) -> Business:  # noqa: ARG002 - the protocol's
        """Raise `NotApplicable`, because businesses are created by hand."""
        _missing("businesses")

    def change(self, business: Business, changes: Mapping[str, Any]) -> None:  # noqa: ARG002 - the protocol's
        """Raise `NotApplicable`, because businesses are changed by hand."""
        _missing("change")

    def remove(self, business: Business) -> None:
        """Do nothing, because the business existed before the run."""

    def advance(self, seconds: float) -> None:  # noqa: ARG002 - the protocol's
        """Raise `NotApplicable`, because nothing can move the clock."""
        _missing("clock")

    def reset(self) -> None: ...

    def members(self, business: Business) -> list[dict[str, Any]]:  # noqa: ARG002 - the protocol's
        """Raise `NotApplicable`, because nothing can read the member records."""
        _missing("member-records")

    def agent(self, request: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002 - the protocol's
        """Raise `NotApplicable`, because nothing can act as an agent."""
        _missing("agent")

    def close(self) -> None: ...


def _missing(capability: str) -> NoReturn:
    raise NotApplicable(capability)
