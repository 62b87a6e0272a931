"""Stands in for our service's lab at a target. The target's grade makes businesses, the front makes faults."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chatkey_conform.capabilities import NotApplicable
from chatkey_conform.grades.business import Business, Businesses
from chatkey_e2e.needs import note
from chatkey_stack.applications import Application
from chatkey_stack.lab import AgentDeed, Provider, ServiceLab, SocialKeys


class TargetLab(ServiceLab):
    """Our lab's interface for a target. `arm`, `armed` and `disarm` call the front, all other methods the target."""

    def __init__(self, url: str, ca: Path | None, businesses: Businesses) -> None:
        super().__init__(url, ca)
        self._businesses = businesses
        self._made: dict[str, Business] = {}
        self._lent: dict[str, Business] = {}
        self._offset = 0.0

    def now(self) -> float:
        """Return the service's time: this machine's time plus the offset by which the service's clock was moved."""
        return time.time() + self._offset

    def hold(self, seconds: float) -> None:
        """Move the clock. Unlike our lab, a target cannot hold back work that becomes due, so it may happen at once."""
        note("clock")
        self._businesses.advance(seconds)
        self._offset += seconds

    def advance(self, seconds: float) -> float:
        """Move the clock and return the service's new time."""
        note("clock")
        if not seconds:
            return self.now()
        self._businesses.advance(seconds)
        self._offset += seconds
        return self.now()

    def reset(self) -> None:
        """Reset the clock, and disarm the front."""
        note("clock")
        self.disarm()
        self._businesses.reset()
        self._offset = 0.0

    def add_provider(
        self, *, domains: Sequence[str], socials: dict[str, SocialKeys] | None = None, **members: object
    ) -> Provider:
        """Make a business, or lend one of the prepared ones. Raises `NotApplicable` if none of them fits."""
        wanted = socials or {}
        if self._businesses.prepared():
            return self._lend(wanted)
        keys = {name: social.wire() for name, social in wanted.items()}
        business = self._businesses.provision({"domains": list(domains), "socials": keys, **members})
        self._made[business.id] = business
        return Provider(business.id, business.secret_key)

    def _lend(self, wanted: dict[str, SocialKeys]) -> Provider:
        if any(keys.key_source == "own" for keys in wanted.values()):
            raise NotApplicable("own-keys")
        free = [business for business in self._businesses.prepared() if business.id not in self._lent]
        fitting = [business for business in free if set(wanted) <= set(business.socials)]
        if not free:
            raise NotApplicable("businesses")
        if not fitting:
            missing = set(wanted).difference(*(business.socials for business in free))
            raise NotApplicable(f"social:{min(missing or wanted)}")
        lent = min(fitting, key=lambda business: len(business.socials))
        self._lent[lent.id] = lent
        return Provider(lent.id, lent.secret_key, origin=lent.origins[0])

    def change_provider(
        self, provider_id: str, *, socials: dict[str, SocialKeys] | None = None, **members: object
    ) -> None:
        """Change a business."""
        note("change")
        keys = {} if socials is None else {"socials": {name: social.wire() for name, social in socials.items()}}
        self._businesses.change(self._known(provider_id), {**keys, **members})

    def remove_provider(self, provider_id: str) -> None:
        """Remove a business, or return it if it was lent."""
        if self._lent.pop(provider_id, None) is None:
            self._businesses.remove(self._made.pop(provider_id))

    def members(self, provider_id: str) -> list[dict[str, Any]]:
        """Return the member records of a business."""
        note("member-records")
        return self._businesses.members(self._known(provider_id))

    def agent(self, provider_id: str, uid: str, do: AgentDeed, **more: object) -> dict[str, Any]:
        """Let an agent act in the conversation with `uid`."""
        note("agent")
        return self._businesses.agent({"id": provider_id, "uid": uid, "do": do, **more})

    def set_application(self, application: Application) -> None:
        """Raise `NotApplicable`: the [social] table of TARGET.toml says which keys a service has."""
        raise NotApplicable(f"social:{application.social}")

    def add_agent(self, username: str, password: str) -> None:  # noqa: ARG002  (the lab's)
        """Raise `NotApplicable`: the kit cannot create panel users in a service that is not ours."""
        raise NotApplicable("agent")

    def add_administrator(self, username: str, password: str) -> None:  # noqa: ARG002  (the lab's)
        """Raise `NotApplicable`: the kit cannot create panel users in a service that is not ours."""
        raise NotApplicable("admin")

    def _known(self, provider_id: str) -> Business:
        return self._made.get(provider_id) or self._lent[provider_id]
