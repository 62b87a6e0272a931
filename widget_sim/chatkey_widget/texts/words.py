"""The types of the widget's texts. If a language lacks a text, the type checker reports it."""

from dataclasses import dataclass
from typing import Literal, TypedDict

Notice = Literal[
    "needs_https",
    "old_browser",
    "unreachable",
    "connection_lost",
    "local_network",
    "not_available",
    "not_available_here",
    "switched_off",
    "message_refused",
    "message_dropped",
    "message_lost",
    "too_fast",
    "too_many_windows",
    "microphone_denied",
    "microphone_dismissed",
    "microphone_missing",
    "microphone_busy",
    "other_microphone",
    "microphone_lost",
    "microphone_unavailable",
    "call_unconnected",
    "call_local_network",
    "call_unsafe",
    "call_unanswered",
    "call_ended",
    "popup_blocked",
    "popup_closed",
    "popup_lost",
    "open_in_browser",
    "sign_in_again",
    "sign_in_cancelled",
    "sign_in_gone",
]
"""The notices that errors can show to a person."""


class Notices(TypedDict):
    """A sentence for every `Notice`."""

    needs_https: str
    old_browser: str
    unreachable: str
    connection_lost: str
    local_network: str
    not_available: str
    not_available_here: str
    switched_off: str
    message_refused: str
    message_dropped: str
    message_lost: str
    too_fast: str
    too_many_windows: str
    microphone_denied: str
    microphone_dismissed: str
    microphone_missing: str
    microphone_busy: str
    other_microphone: str
    microphone_lost: str
    microphone_unavailable: str
    call_unconnected: str
    call_local_network: str
    call_unsafe: str
    call_unanswered: str
    call_ended: str
    popup_blocked: str
    popup_closed: str
    popup_lost: str
    open_in_browser: str
    sign_in_again: str
    sign_in_cancelled: str
    sign_in_gone: str


class Links(TypedDict):
    """A word for every `view.Link`."""

    connecting: str
    online: str
    offline: str
    stopped: str


class Calls(TypedDict):
    """A word for every `view.CallShown`."""

    none: str
    calling: str
    ringing: str
    active: str
    elsewhere: str
    ended: str


class States(TypedDict):
    """A word for the state of a message."""

    sending: str
    sent: str
    refused: str


Reason = Literal["too_long", "unreadable"]


class Reasons(TypedDict):
    """The reason why a message was refused, for every `Reason`. Other reasons are shown as their code."""

    too_long: str
    unreadable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """All texts of one language. `{count}` stands for a number in the language's format, and `{name}` for a name."""

    direction: Literal["ltr", "rtl"]
    open: str
    close: str
    unread: str
    conversation: str
    write: str
    message: str
    send: str
    search: str
    search_this: str
    found: str
    nothing_found: str
    back: str
    older: str
    call: str
    hang_up: str
    mute: str
    unmute: str
    play_sound: str
    microphone: str
    speaker: str
    level: str
    asking_microphone: str
    connecting_sound: str
    sound_interrupted: str
    muted: str
    unmuted: str
    dismiss: str
    title: str
    greeting: str
    visitor: str
    member: str
    signing_in: str
    sign_in: str
    sign_out: str
    sign_in_intro: str
    continue_with: str
    waiting_for: str
    open_sign_in: str
    open_outside: str
    you: str
    agent: str
    links: Links
    calls: Calls
    states: States
    reasons: Reasons
    notices: Notices
