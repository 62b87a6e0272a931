"""Tests of the runtime in a call: the browser's microphone and devices, and the call of a tab that reloads."""

import asyncio

import pytest
from tests.widget.caller import CALL_ID
from tests.widget.driver import NOW
from tests.widget.world import World, run

from chatkey_protocol.storage_keys import CALL_LOCK_PREFIX
from chatkey_widget import events
from chatkey_widget.errors import Fault
from chatkey_widget.kept_call import KeptCall
from chatkey_widget.ports import MicrophoneRefused
from chatkey_widget.runtime import Runtime


async def test_the_runtime_uses_the_chosen_device_and_reports_a_refusal() -> None:
    world = World()
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())
    runtime.feed(events.CallAsked("start"))
    await world.until(lambda: any(frame["type"] == "call" for frame in world.sent))

    runtime.feed(events.DeviceChosen("speaker", "headset"))
    await world.until(lambda: "speaker headset" in world.call_sound.done)
    world.call_sound.refuse = MicrophoneRefused(Fault.MICROPHONE_BUSY, "Another program uses it.")
    runtime.feed(events.DeviceChosen("microphone", "desk"))
    await world.until(lambda: "error" in world.names())

    assert world.errors() == [Fault.MICROPHONE_BUSY]
    assert "close" not in world.call_sound.done[world.call_sound.done.index("microphone") :]
    runtime.feed(events.ShutdownAsked())


@pytest.mark.parametrize(("blocked", "code"), [(True, Fault.CALL_LOCAL_NETWORK), (False, Fault.CALL_UNCONNECTED)])
async def test_the_runtime_asks_the_browser_why_the_sound_is_not_connected(*, blocked: bool, code: Fault) -> None:
    """F244, F250: The browser's answer decides which code ends the call."""
    world = World()
    world.call_sound.blocked = blocked
    runtime = await accepted_call(world)

    runtime.feed(events.TimerFired("sound"))
    await world.until(lambda: "error" in world.names())

    assert world.errors() == [code]
    runtime.feed(events.ShutdownAsked())


async def test_a_call_ends_although_the_browser_does_not_say_why_it_is_not_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """F244: `getStats` may never answer."""
    monkeypatch.setattr("chatkey_widget.runtime.INSPECT_SECONDS", 0.0)
    world = World()
    world.call_sound.blocked = None
    runtime = await accepted_call(world)

    runtime.feed(events.TimerFired("sound"))
    await world.until(lambda: "error" in world.names())

    assert world.errors() == [Fault.CALL_UNCONNECTED]
    assert world.call_sound.done[-1] == "close"
    runtime.feed(events.ShutdownAsked())


async def test_a_bug_in_the_inspection_of_the_sound_does_not_keep_the_call_connecting() -> None:
    """The call must end, and the page must get both errors."""
    world = World()
    world.call_sound.blocked = ValueError("a bug")
    runtime = await accepted_call(world)
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context.get("exception")))

    runtime.feed(events.TimerFired("sound"))
    await world.until(lambda: Fault.WIDGET_FAILED in world.errors())

    assert world.errors() == [Fault.CALL_UNCONNECTED, Fault.WIDGET_FAILED]
    assert reported == [world.call_sound.blocked]
    runtime.feed(events.ShutdownAsked())


async def accepted_call(world: World) -> Runtime:
    """Start a call, and let the agent accept it."""
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())
    runtime.feed(events.CallAsked("start"))
    await world.call_sound.opened.wait()
    world.receive({"type": "call", "call_id": CALL_ID, "state": "ringing", "id": world.call_started})
    world.receive({"type": "call", "call_id": CALL_ID, "state": "active"})
    return runtime


async def test_a_reloaded_tab_joins_its_call_again_with_what_the_person_has_chosen() -> None:
    """F247: The page of the tab that has the call finds the call in sessionStorage."""
    world = World(kept_call=KeptCall("frame-1", muted=True, microphone="desk", speaker="headset").write())

    runtime = run(world)
    await world.until(lambda: any(frame["type"] == "call" for frame in world.sent))

    joined = next(frame for frame in world.sent if frame["type"] == "call")
    world.receive({"type": "call", "call_id": CALL_ID, "state": "active", "id": joined["id"]})
    await world.call_sound.opened.wait()

    assert (joined["action"], joined["started"]) == ("join", "frame-1")
    assert world.call_sound.done[-1] == "microphone desk headset"
    assert runtime.machine.handle(events.PanelToggled(open=True), NOW)
    runtime.feed(events.ShutdownAsked())


async def test_a_duplicate_of_the_calling_tab_leaves_the_call_alone() -> None:
    """F251: The browser copies sessionStorage into the duplicate, but the calling tab holds the lock of the call."""
    world = World(kept_call=KeptCall("frame-1").write(), held=[CALL_LOCK_PREFIX + "frame-1"])

    runtime = run(world)
    await world.until(lambda: "ready" in world.names())

    assert [frame for frame in world.sent if frame["type"] == "call"] == []
    assert world.call_started is None
    runtime.feed(events.ShutdownAsked())


async def test_a_tab_that_calls_holds_the_lock_of_the_call() -> None:
    world = World()
    runtime = run(world)
    await world.until(lambda: "ready" in world.names())

    runtime.feed(events.CallAsked("start"))
    await world.until(lambda: "microphone" in world.call_sound.done)

    assert f"{CALL_LOCK_PREFIX}{world.call_started}" in world.held
    runtime.feed(events.ShutdownAsked())
