"""The state that all parts of the widget share: settings, time, randomness, and the list of effects."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from chatkey_widget.effects import CancelTimer, Effect, Emit, SetTimer
from chatkey_widget.errors import Phase, WidgetError
from chatkey_widget.keys import PublicKey
from chatkey_widget.server_time import ServerTime
from chatkey_widget.texts import Notice
from chatkey_widget.timers import Timer

JOURNAL_LENGTH: Final = 200
TROUBLES_LENGTH: Final = 20
TROUBLES: Final = frozenset({"error", "warning", "key:lost", "storage:degraded"})
"""Events that the journal keeps for longer than others, because they explain why something went wrong."""
OVERDUE_SECONDS: Final = 75.0
"""The delay in seconds of a timer from which the page must have slept.

In a hidden tab, timers still fire once a minute.
"""


class Chance(Protocol):
    """Random numbers that differ in every page.

    The `random` module would give the same numbers in every page, because the start-up snapshot contains the module's
    state.
    """

    def token(self) -> str:
        """Return 128 or more unguessable bits as base64url."""
        ...

    def fraction(self) -> float:
        """Return a random number from 0 to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """Data from the page: address and origin of the service, the provider, whether `getToken` exists, and the
    languages.

    `locale` is the language that the page has chosen. `languages` are the languages of the browser's user, best first.
    `popups` says whether the page can open windows beside itself, and `calls` whether the browser has WebRTC.
    """

    base_url: str
    service_origin: str
    page_origin: str
    provider_id: str
    custom_login: bool = False
    locale: str = ""
    languages: tuple[str, ...] = ()
    popups: bool = True
    calls: bool = True


@dataclass(slots=True)
class Context:
    """The environment of one widget. `now` is the page's time at the event that is being handled."""

    settings: Settings
    chance: Chance
    now: float = 0.0
    key: PublicKey | None = None
    key_in_memory: bool = False
    time: ServerTime = field(default_factory=ServerTime)
    effects: list[Effect] = field(default_factory=list)
    journal: deque[dict[str, object]] = field(default_factory=lambda: deque(maxlen=JOURNAL_LENGTH))
    troubles: deque[dict[str, object]] = field(default_factory=lambda: deque(maxlen=TROUBLES_LENGTH))
    counters: Counter[str] = field(default_factory=Counter)
    timers: dict[Timer, float] = field(default_factory=dict)
    notice: Notice | None = None
    notice_phase: Phase | None = None
    _refs: int = 0

    @property
    def server_now(self) -> float:
        """The server's time, as far as the widget knows it."""
        return self.time.at(self.now)

    @property
    def connection_key(self) -> PublicKey:
        """The connection key. It must be ready when this is called."""
        if self.key is None:
            raise AssertionError("the connection key was read before it was ready")
        return self.key

    def time_for(self, issued_at: float | None) -> float:
        """Return the time for checking a new token. If the server's time is uncertain, this is the token's `iat`."""
        return issued_at if self.time.in_doubt and issued_at is not None else self.server_now

    def go_on(self, now: float) -> None:
        """Set the page's time. If the page has slept or its clock was changed, the server's time becomes uncertain."""
        self.now = now
        if any(now - due > OVERDUE_SECONDS for due in self.timers.values()):
            self.time.in_doubt = True

    def learn_time(self, server_time: float) -> None:
        """Use `server_time` as the server's time. Tokens are checked with the server's time.

        Warn once if the server's time differs greatly from the page's time.
        """
        skew = self.time.learn(server_time, self.now)
        if skew is not None:
            self.emit("warning", code="clock_skew", seconds=round(skew))

    def new_ref(self) -> int:
        """Return a new number for an effect. The answer to the effect contains the same number."""
        self._refs += 1
        return self._refs

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def emit(self, name: str, /, **detail: object) -> None:
        """Notify the page of an event, and record it in the journal."""
        self.note(name, detail)
        self.do(Emit(name, detail))

    def note(self, name: str, detail: Mapping[str, object]) -> None:
        """Record an event in the journal, for `debug()`."""
        self.counters[name] += 1
        entry: dict[str, object] = {"at": self.now, "name": name, "detail": detail}
        self.journal.append(entry)
        if name in TROUBLES:
            self.troubles.append(entry)

    def report(self, error: WidgetError) -> None:
        """Report an error to the page. If the error concerns the person, show a notice, too."""
        if error.said is not None:
            self.notice, self.notice_phase = error.said, error.phase
        self.emit("error", **error.detail())

    def set_timer(self, name: Timer, seconds: float) -> None:
        self.timers[name] = self.now + seconds
        self.do(SetTimer(name, seconds))

    def hasten(self, name: Timer) -> None:
        """Fire a running timer at a random moment within the next second."""
        if name in self.timers:
            self.set_timer(name, min(self.timers[name] - self.now, self.chance.fraction()))

    def cancel_timer(self, name: Timer) -> None:
        if self.timers.pop(name, None) is not None:
            self.do(CancelTimer(name))

    def take_effects(self) -> list[Effect]:
        taken, self.effects = self.effects, []
        return taken

    def seconds_left(self) -> Mapping[str, float]:
        """Return the running timers with their remaining seconds."""
        return {name: round(due - self.now, 3) for name, due in self.timers.items()}
