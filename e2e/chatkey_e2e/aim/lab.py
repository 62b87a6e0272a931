"""Replaces the lab of our service for a target. The target's grade creates businesses, and the front creates faults."""

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
from chatkey_stack.patience import PATIENCE


class TargetLab(ServiceLab):
    """Our lab's interface for a target.

    `arm`, `armed` and `disarm` call the front. The other methods call the target.
    """

    def __init__(self, url: str, ca: Path | None, businesses: Businesses, patience: float = PATIENCE) -> None:
        super().__init__(url, ca, patience=patience)
        self._businesses = businesses
        self._made: dict[str, Business] = {}
        self._lent: dict[str, Business] = {}
        self._offset = 0.0

    def now(self) -> float:
        """Return the service's time: the time of this machine plus the offset of the service's clock."""
        return time.time() + self._offset

    def hold(self, seconds: float) -> None:
        """Move the clock. A target cannot delay work that becomes due, so the work may happen at once."""
        note("clock")
        self._businesses.advance(seconds)
        self._offset += seconds

    def advance(self, seconds: float) -> float:
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
        """Create a business, or lend a prepared one. Raises `NotApplicable` if no prepared business fits."""
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
        note("change")
        keys = {} if socials is None else {"socials": {name: social.wire() for name, social in socials.items()}}
        self._businesses.change(self._known(provider_id), {**keys, **members})

    def remove_provider(self, provider_id: str) -> None:
        """Remove a business, or return it if it was lent."""
        if self._lent.pop(provider_id, None) is None:
            self._businesses.remove(self._made.pop(provider_id))

    def members(self, provider_id: str) -> list[dict[str, Any]]:
        note("member-records")
        return self._businesses.members(self._known(provider_id))

    def agent(self, provider_id: str, uid: str, do: AgentDeed, **more: object) -> dict[str, Any]:
        note("agent")
        return self._businesses.agent({"id": provider_id, "uid": uid, "do": do, **more})

    def set_application(self, application: Application) -> None:
        """Raise `NotApplicable`, because only TARGET.toml can set the keys of a service that is not ours."""
        raise NotApplicable(f"social:{application.social}")

    def add_agent(self, username: str, password: str) -> None:  # noqa: ARG002  (the lab's)
        """Raise `NotApplicable`, because the kit cannot create panel users in a service that is not ours."""
        raise NotApplicable("agent")

    def add_administrator(self, username: str, password: str) -> None:  # noqa: ARG002  (the lab's)
        """Raise `NotApplicable`, because the kit cannot create panel users in a service that is not ours."""
        raise NotApplicable("admin")

    def _known(self, provider_id: str) -> Business:
        return self._made.get(provider_id) or self._lent[provider_id]
