"""The complete contents of the screen, as one value. The browser modules only draw this value."""

from dataclasses import dataclass
from typing import Literal

from chatkey_protocol.frames import CallState, Sender

Page = Literal["chat", "search", "sign-in"]
Link = Literal["connecting", "online", "offline", "stopped"]
CallShown = CallState | Literal["none", "calling", "elsewhere"]
"""`elsewhere` is a call of another tab of the same person."""


@dataclass(frozen=True, slots=True)
class Person:
    """The person who uses the widget. Only a member whom the server has accepted has a name."""

    member: bool = False
    name: str | None = None
    email: str | None = None
    avatar: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """One message. `state` is `sent` after the server has stored the message."""

    id: str
    sender: Sender
    body: str
    sent_at: float
    name: str | None = None
    seq: int | None = None
    state: Literal["sending", "sent", "refused"] = "sent"
    reason: str = ""
    """The code of the reason why the message was refused."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """The business's choices in the admin panel (contract 2.2, D-02)."""

    title: str = ""
    greeting: str = ""
    call_title: str = ""
    colour: str = "#4f46e5"
    position: Literal["left", "right"] = "right"
    locale: str = ""
    can_chat: bool = True
    can_call: bool = False
    socials: tuple[str, ...] = ()


DeviceKind = Literal["microphone", "speaker"]


@dataclass(frozen=True, slots=True)
class Device:
    """A microphone or a speaker that the person can choose for a call."""

    kind: DeviceKind
    id: str
    label: str
    used: bool


@dataclass(frozen=True, slots=True)
class SoundShown:
    """The sound of the call. `asking` means that the browser asks for the microphone.

    If `silent` is true, the browser plays it only after the person has pressed a button.
    """

    state: Literal["none", "asking", "connecting", "connected", "interrupted"] = "none"
    muted: bool = False
    silent: bool = False
    devices: tuple[Device, ...] = ()

    @property
    def is_on(self) -> bool:
        """Whether the microphone is part of the call, also while the sound is away for a moment."""
        return self.state in {"connecting", "connected", "interrupted"}


@dataclass(frozen=True, slots=True)
class View:
    visible: bool = False
    open: bool = False
    page: Page = "chat"
    appearance: Appearance = Appearance()
    locale: str = "en"
    link: Link = "connecting"
    person: Person = Person()
    lines: tuple[Line, ...] = ()
    more: bool = False
    loaded: bool = False
    unread: int = 0
    query: str = ""
    found: tuple[Line, ...] | None = None
    call: CallShown = "none"
    call_seconds: int | None = None
    """Seconds since the call was answered, or None if there is no active call."""
    sound: SoundShown = SoundShown()
    signing_in: str | None = None
    notice: str | None = None
    sign_in_elsewhere: bool = False
    """Whether no sign-in window can be opened here, as in the built-in browser of an app."""
    blocked: str | None = None
    """The social provider whose sign-in window the browser blocked. The notice has a button that opens it."""
