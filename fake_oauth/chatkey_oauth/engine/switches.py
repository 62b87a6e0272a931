"""Switches for provider behaviours that are poorly documented. Tests can choose either variant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

POSITIONS: Final = {"on": True, "off": False}


class Switch(NamedTuple):
    """A behaviour that can be on or off. `summary` is one sentence that says what happens when the switch is on."""

    name: str
    default: bool
    summary: str


class Position(NamedTuple):
    """The current setting of a switch. `key` is `<provider>.<switch>`."""

    key: str
    on: bool
    default: bool
    summary: str


class SwitchError(ValueError):
    """An unknown switch or an invalid setting. The message lists the valid ones."""


class Switches:
    """The switches of all providers, by key.

    `declared` returns the switches that each provider declares. It is called only when these switches are needed.
    """

    def __init__(
        self, declared: Callable[[], Mapping[str, tuple[Switch, ...]]], initial: Mapping[str, bool] | None = None
    ) -> None:
        self._declared = declared
        self._initial = dict(initial or {})
        self._set: dict[str, bool] = {}
        self.reset()

    def reset(self) -> None:
        self._set.clear()
        for key, on in self._initial.items():
            self.set(key, on=on)

    def set(self, key: str, *, on: bool) -> Position:
        """Turn a switch on or off. Raises `SwitchError`."""
        provider, _, name = key.partition(".")
        switches = self._declared()
        if provider not in switches:
            raise SwitchError(f"{key!r}: there is no provider {provider!r}. Available: {', '.join(switches)}.")
        switch = next((switch for switch in switches[provider] if switch.name == name), None)
        if switch is None:
            names = ", ".join(switch.name for switch in switches[provider]) or "none"
            raise SwitchError(f"{key!r}: {provider} has no switch {name!r}. Available: {names}.")
        self._set[key] = on
        return Position(key, on, switch.default, switch.summary)

    def is_on(self, key: str, default: bool) -> bool:
        """Return whether a switch is on. A switch that was never set has the provider's default."""
        return self._set.get(key, default)

    def all(self) -> list[Position]:
        return [
            Position(key := f"{provider}.{name}", self.is_on(key, default), default, summary)
            for provider, switches in self._declared().items()
            for name, default, summary in switches
        ]


def read_switch(text: str) -> tuple[str, bool]:
    """Parse `<provider>.<switch>=on` or `=off`. Raises `SwitchError`."""
    key, _, position = text.partition("=")
    if position not in POSITIONS:
        raise SwitchError(f"{text!r} is not a valid switch setting: write {key or 'discord.iss'}=on or =off.")
    return key, POSITIONS[position]
