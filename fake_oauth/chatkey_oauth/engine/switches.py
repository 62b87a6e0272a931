"""Behaviours that are known from one source or none, so that each can be had either way: switches of a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

POSITIONS: Final = {"on": True, "off": False}


class Switch(NamedTuple):
    """A behaviour that is on or off; `summary` says in one sentence what happens while it is on."""

    name: str
    default: bool
    summary: str


class Position(NamedTuple):
    """How a switch stands. `key` is `<provider>.<switch>`."""

    key: str
    on: bool
    default: bool
    summary: str


class SwitchError(ValueError):
    """A switch that does not exist or cannot stand so; the message says which there are."""


class Switches:
    """The switches of all providers, by key. `declared` has each provider's, and is asked only when one is set."""

    def __init__(
        self, declared: Callable[[], Mapping[str, tuple[Switch, ...]]], initial: Mapping[str, bool] | None = None
    ) -> None:
        self._declared = declared
        self._initial = dict(initial or {})
        self._set: dict[str, bool] = {}
        self.reset()

    def reset(self) -> None:
        """Return to how the switches stood at start."""
        self._set.clear()
        for key, on in self._initial.items():
            self.set(key, on=on)

    def set(self, key: str, *, on: bool) -> Position:
        """Set a switch. Raises `SwitchError`."""
        provider, _, name = key.partition(".")
        switches = self._declared()
        if provider not in switches:
            raise SwitchError(f"{key!r}: there is no provider {provider!r}, only {', '.join(switches)}.")
        switch = next((switch for switch in switches[provider] if switch.name == name), None)
        if switch is None:
            names = ", ".join(switch.name for switch in switches[provider]) or "none"
            raise SwitchError(f"{key!r}: {provider} has no switch {name!r}; it has: {names}.")
        self._set[key] = on
        return Position(key, on, switch.default, switch.summary)

    def is_on(self, key: str, default: bool) -> bool:
        """How a switch stands: as it was set, else as its provider declares it."""
        return self._set.get(key, default)

    def all(self) -> list[Position]:
        """Every switch there is."""
        return [
            Position(key := f"{provider}.{name}", self.is_on(key, default), default, summary)
            for provider, switches in self._declared().items()
            for name, default, summary in switches
        ]


def read_switch(text: str) -> tuple[str, bool]:
    """Read `<provider>.<switch>=on` or `=off`. Raises `SwitchError`."""
    key, _, position = text.partition("=")
    if position not in POSITIONS:
        raise SwitchError(f"{text!r} is not a switch and its position: write it as {key or 'discord.iss'}=on or =off.")
    return key, POSITIONS[position]
