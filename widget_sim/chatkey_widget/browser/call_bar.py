"""The call: its state, and what the person can do. It is in the open panel, or beside the launcher."""

from collections.abc import Callable, Sequence
from typing import Any

from chatkey_widget import events
from chatkey_widget.browser.dom import element, icon, icon_button, set_attribute
from chatkey_widget.browser.js_values import Listeners
from chatkey_widget.browser.words import Words
from chatkey_widget.view import Device, DeviceKind, SoundShown, View


class CallBar:
    """The bar exists while the widget speaks one language."""

    def __init__(self, feed: Callable[[events.Event], None], words: Words) -> None:
        self._feed = feed
        self._words, self._texts = words, words.texts
        texts = words.texts
        self._listeners = Listeners()
        self._is_muted = False
        self._text = element("span", role="status")
        self._timer = element("span", role="timer", class_="timer", dir="ltr")
        self._hang_up = element("button", type="button", class_="hang-up", text=texts.hang_up)
        self._meter = element(
            "div",
            element("span"),
            class_="meter",
            role="meter",
            aria_label=texts.level,
            aria_valuemin="0",
            aria_valuemax="100",
            aria_valuenow="0",
            hidden="",
        )
        self._mute = icon_button("microphone", texts.mute, class_="quiet", aria_pressed="false", hidden="")
        self._play = element("button", type="button", class_="link", text=texts.play_sound, hidden="")
        self._devices: dict[DeviceKind, Any] = {
            "microphone": element("select", class_="device", aria_label=texts.microphone, dir="auto", hidden=""),
            "speaker": element("select", class_="device", aria_label=texts.speaker, dir="auto", hidden=""),
        }
        self._devices_shown: tuple[Device, ...] = ()
        self.element = element(
            "div",
            icon("call"),
            element("div", self._text, self._timer, class_="said"),
            self._play,
            self._meter,
            self._mute,
            self._hang_up,
            *self._devices.values(),
            class_="call-bar",
            role="group",
            aria_label=texts.call,
            hidden="",
            data_state="none",
            data_testid="chatkey-call-bar",
        )
        self._listen()

    def show(self, view: View) -> None:
        """Show the state of the call. The text is set only if it changes, because screen readers read every update."""
        text = said(view, self._words)
        if (self.element.dataset.state, self._text.textContent) != (view.call, text):
            self.element.dataset.state = view.call
            self._text.textContent = text
        self._draw_sound(view.sound)
        self._timer.textContent = "" if view.call_seconds is None else self._words.duration(view.call_seconds)
        set_attribute(self.element, "hidden", "" if view.call == "none" else None)
        set_attribute(self._hang_up, "hidden", "" if view.call in {"ended", "elsewhere"} else None)

    def show_level(self, level: float) -> None:
        """Show the level of the microphone, from 0 to 1."""
        percent = round(100 * level)
        self._meter.setAttribute("aria-valuenow", str(percent))
        self._meter.style.setProperty("--level", f"{percent}%")

    def release(self) -> None:
        """Remove the bar from the page, and remove its listeners."""
        self._listeners.remove_all()
        self.element.remove()

    def _listen(self) -> None:
        on = self._listeners.add
        on(self._mute, "click", lambda _event: self._feed(events.MuteAsked(not self._is_muted)))
        on(self._play, "click", lambda _event: self._feed(events.PlayAsked()))
        on(self._hang_up, "click", lambda _event: self._feed(events.CallAsked("end")))
        for select in self._devices.values():
            on(select, "change", self._choose_device)

    def _choose_device(self, event: Any) -> None:
        chosen = event.target
        kind: DeviceKind = "microphone" if chosen == self._devices["microphone"] else "speaker"
        self._feed(events.DeviceChosen(kind, chosen.value))

    def _draw_sound(self, sound: SoundShown) -> None:
        for shown, wanted in ((self._meter, sound.is_on), (self._mute, sound.is_on), (self._play, sound.silent)):
            set_attribute(shown, "hidden", None if wanted else "")
        if sound.devices != self._devices_shown:
            self._devices_shown = sound.devices
            for kind, select in self._devices.items():
                _offer(select, [device for device in sound.devices if device.kind == kind])
        self._is_muted = sound.muted
        label = self._texts.unmute if sound.muted else self._texts.mute
        self._mute.setAttribute("aria-pressed", str(sound.muted).lower())
        self._mute.setAttribute("aria-label", label)
        self._mute.title = label


def said(view: View, words: Words) -> str:
    """Return the state of the call in words, with the state of the microphone."""
    texts = words.texts
    waiting = {
        "asking": texts.asking_microphone,
        "connecting": texts.connecting_sound,
        "interrupted": texts.sound_interrupted,
    }
    text = waiting.get(view.sound.state, texts.calls[view.call])
    return f"{text} · {texts.muted if view.sound.muted else texts.unmuted}" if view.sound.is_on else text


def _offer(select: Any, devices: Sequence[Device]) -> None:
    """Fill the select box with the devices. With a single device there is no choice."""
    options = [
        element("option", text=device.label, value=device.id, selected="" if device.used else None)
        for device in devices
    ]
    select.replaceChildren(*options)
    set_attribute(select, "hidden", None if len(options) > 1 else "")
