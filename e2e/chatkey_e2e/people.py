"""People who return in a later test. The run keeps browser profiles, because a storage state has no private keys."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, BrowserType

Members = dict[str, Any]


class People:
    """The browsers of the people in one test. A later test can open the profile of each person again."""

    def __init__(
        self, profiles: Path, browser_type: BrowserType, launch: Members, context: Members, recorder: Any
    ) -> None:
        self._profiles = profiles
        self._type = browser_type
        self._members = {**launch, **context}
        self._recorder = recorder
        self._open: dict[str, Callable[..., None]] = {}

    def open(self, name: str, **members: Any) -> BrowserContext:
        """Open a person's browser. `storage_state` applies to a new profile only, because it replaces the person's key.

        Raises `ValueError` if `name` is not a valid folder name, or if the browser is already open.
        """
        if not re.fullmatch(r"[\w.-]+", name):
            raise ValueError(
                f"the name {name!r} cannot be used for a profile: use only letters, digits, '.', '-' and '_'"
            )
        if name in self._open:
            raise ValueError(f"the browser of {name!r} is already open; a profile can only be open once")
        profile = self._profiles / f"{self._type.name}-{name}"
        is_new = not profile.exists()
        wanted = {**self._members, **members}
        state = wanted.pop("storage_state", None)
        context = self._type.launch_persistent_context(profile, **wanted)
        if state is not None and is_new:
            context.set_storage_state(state)
        self._recorder.on_did_create_browser_context(context)
        shut = context.close

        def close(**how: Any) -> None:
            if self._open.pop(name, None):
                self._recorder.on_will_close_browser_context(context)
                shut(**how)

        self._open[name] = context.close = close  # type: ignore[method-assign]
        return context

    def close(self) -> None:
        """Close every open browser, but keep the profiles."""
        for close in list(self._open.values()):
            close()


Person = Callable[..., BrowserContext]


def trusting(browser_name: str, members: Members) -> Members:
    """Return arguments of a context in which the browser trusts the run's CA. Chromium trusts its key anyway."""
    return members if browser_name == "chromium" else {"ignore_https_errors": True, **members}
