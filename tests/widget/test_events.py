"""Tests of the groups of events."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import get_args

from chatkey_widget import events

GROUPS = (
    events.StartEvent,
    events.ServiceEvent,
    events.GetTokenEvent,
    events.SignInEvent,
    events.ScreenEvent,
    events.SoundEvent,
    events.MachineEvent,
)


def test_every_event_belongs_to_one_group() -> None:
    grouped = [event for group in GROUPS for event in get_args(group)]
    declared = {kind for kind in vars(events).values() if is_dataclass(kind) and kind.__module__ == events.__name__}

    assert len(grouped) == len(set(grouped))
    assert set(grouped) == set(get_args(events.Event)) == declared - {events.Unusable}
