"""Walks every cell of `calls.toml` with the widget: each state of a call, and each event that can happen in it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Final

import pytest
from tests.widget.caller import CALL_ID, Caller
from tests.widget.driver import Driver, MakeWidget

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.texts import speaking

Cells = Mapping[str, Mapping[str, list[str]]]
CELLS: Final[Cells] = tomllib.loads(files("chatkey_widget").joinpath("calls.toml").read_text("utf-8"))["widget"]


RECONNECTED: Final = 12
"""Seconds after which a widget has a connection again. A sound that connects has 15 seconds."""


class Scene:
    """A member in a call, with a service that stores the call and answers each `call` frame."""

    def __init__(self, make_widget: MakeWidget) -> None:
        self._make = make_widget
        self.database = ""
        self._answered = 0
        self.driver = self._page()

    def _page(self, **kept: object) -> Driver:
        driver = self._make(custom_login=True, **kept)
        driver.page = lambda call: events.GetTokenReturned(call.ref, driver.custom())
        return driver.start()

    def enter(self, state: str) -> None:
        caller = Caller(self.driver)
        self.driver.opens_microphone = state != "asking"
        if state == "elsewhere":
            self._tell("active")
        elif state != "idle":
            self.driver.feed(events.CallAsked("start"))
            self.serve()
        if state in {"connecting", "active", "muted", "interrupted", "ended"}:
            self._tell("active")
        if state in {"active", "muted", "interrupted"}:
            caller.offer()
            self.driver.frame(type="signal", call_id=CALL_ID, event="passed", id=caller.answer()["id"])
            self.driver.feed(events.SoundChanged(caller.ref, "connected"))
        if state == "muted":
            self.driver.feed(events.MuteAsked(muted=True))
        if state == "interrupted":
            self.driver.feed(events.SoundChanged(caller.ref, "interrupted"))
        if state == "ended":
            self._tell("ended")

    def serve(self) -> None:
        """Answer the widget's `call` frames as the service does."""
        sent = [send for send in self.driver.all(effects.Send) if send.frame["type"] == Kind.CALL][self._answered :]
        self._answered += len(sent)
        for ref, frame in ((send.ref, send.frame) for send in sent):
            match frame["action"]:
                case "start":
                    self._tell("ringing", id=frame["id"])
                case "join" if self.database == "active":
                    self._tell("active", id=frame["id"])
                case "end" if ref != self.driver.socket:  # and the answer comes to nobody
                    self.database = "ended"
                case "end" if self.database in {"ringing", "active"}:
                    self._tell("ended", id=frame["id"], **({"code": frame["code"]} if "code" in frame else {}))
                case _:
                    refusal = {"code": Code.CALL_UNKNOWN, "message": "There is no call.", "retryable": False}
                    self.driver.frame(type="error", id=frame["id"], **refusal)

    def _tell(self, state: str, **members: object) -> None:
        self.database = f"{state} {members.get('code', '')}".strip()
        if self.driver.socket is not None:
            self.driver.frame(type="call", call_id=CALL_ID, state=state, **members)

    # the events

    def hang_up(self) -> None:
        if self.driver.view.call not in {"none", "elsewhere", "ended"}:  # otherwise there is no button
            self.driver.feed(events.CallAsked("end"))

    def reload(self) -> None:
        if self.database == "ringing":  # the last socket of the person closes
            self.database = "ended"
        self._answered = 0
        self.driver = self._page(call=self.driver.call, cached=self.driver.stored)

    def second_tab(self) -> None:
        if self.database in {"ringing", "active"}:
            self._tell(self.database)  # its "start" is answered with the state of the call

    def socket_lost(self, code: int = 1006) -> None:
        if self.database == "ringing":
            self.database = "ended"
        self.driver.close(code)
        self.driver.advance(RECONNECTED)

    def process_dies(self) -> None:
        self.driver.close(1006)
        self.driver.advance(RECONNECTED)

    def address_changed(self) -> None:
        self.driver.feed(events.Woken("online"))
        self._sound("interrupted")

    def link_lost(self) -> None:
        self.address_changed()
        self.socket_lost()

    def permission_revoked(self) -> None:
        if self.driver.view.sound.state == "asking":
            self.driver.feed(events.MicrophoneFailed(Caller(self.driver).ref, Fault.MICROPHONE_DENIED, "why"))
        else:
            self._sound("microphone_lost")

    def device_gone(self) -> None:
        """The browser has already opened another microphone."""
        if self._has_microphone:
            self.driver.feed(events.DevicesFound(Caller(self.driver).ref, ()))

    def agent_reloads(self) -> None:
        self._sound("interrupted")
        Caller(self.driver).offer(nonce="another-agents-nonce")

    def peer_gone(self) -> None:
        self._sound("interrupted")
        self._end(Code.CALL_LOST, of="active")

    def token_ends(self) -> None:
        self._end(Code.TOKEN_EXPIRED, is_told=False)
        self.driver.close(4419)
        self.driver.advance(RECONNECTED)

    def logout(self) -> None:
        self.driver.feed(events.LogoutAsked())

    def _end(self, code: str, *, of: str = "", is_told: bool = True) -> None:
        if self.database in ({of} if of else {"ringing", "active"}):
            if is_told:
                self._tell("ended", code=code)
            self.database = f"ended {code}"

    def _sound(self, state: events.SoundState) -> None:
        if self._has_microphone:
            self.driver.feed(events.SoundChanged(Caller(self.driver).ref, state))

    @property
    def _has_microphone(self) -> bool:
        return self.driver.counts()["OpenMicrophone"] > 0

    @property
    def state(self) -> str:
        view = self.driver.view
        if view.call in {"calling", "ringing"}:
            return "asking" if view.sound.state == "asking" else "ringing"
        if view.call != "active":
            return "idle" if view.call == "none" else view.call
        if view.sound.muted or view.sound.state == "connected":
            return "muted" if view.sound.muted else "active"
        return view.sound.state


EVENTS: Final[Mapping[str, Callable[[Scene], None]]] = {
    "hang_up": Scene.hang_up,
    "reload": Scene.reload,
    "second_tab": Scene.second_tab,
    "socket_lost": Scene.socket_lost,
    "link_lost": Scene.link_lost,
    "address_changed": Scene.address_changed,
    "permission_revoked": Scene.permission_revoked,
    "device_gone": Scene.device_gone,
    "autoplay_refused": lambda scene: scene._sound("silent"),
    "panel_closed": lambda scene: scene.driver.feed(events.PanelToggled(open=True), events.PanelToggled(open=False)),
    "logout": Scene.logout,
    "token_ends": Scene.token_ends,
    "provider_off": lambda scene: scene._end(Code.PROVIDER_OFF),
    "agent_signs_out": lambda scene: scene._end(Code.CALL_LOST, of="active"),
    "agent_reloads": Scene.agent_reloads,
    "peer_gone": Scene.peer_gone,
    "server_restarted": lambda scene: scene.socket_lost(1012),
    "process_dies": Scene.process_dies,
}


def test_no_cell_is_empty() -> None:
    assert {state: cells.keys() for state, cells in CELLS.items()} == {state: EVENTS.keys() for state in CELLS}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("state", CELLS)
def test_an_event_leads_to_the_state_the_sentence_and_the_record_of_its_cell(
    make_widget: MakeWidget, state: str, event: str
) -> None:
    scene = Scene(make_widget)
    scene.enter(state)
    assert scene.state == state

    EVENTS[event](scene)
    scene.serve()

    read = next((name for name, said in speaking("en").notices.items() if said == scene.driver.view.notice), "")
    if scene.driver.view.sound.silent:
        read = "play_sound"
    assert [scene.state, read, scene.database] == CELLS[state][event]
    is_live = scene.state not in {"idle", "elsewhere", "ended"}
    assert is_live or Caller(scene.driver).is_silent()
