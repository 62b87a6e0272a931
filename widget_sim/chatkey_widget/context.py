"""What the parts of the machine share: the settings, the time, chance, and the list of effects they add to."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from chatkey_widget.effects import CancelTimer, Effect, Emit, SetTimer
from chatkey_widget.errors import Phase, WidgetError
from chatkey_widget.keys import PublicKey

JOURNAL_LENGTH: Final = 200
SKEW_WORTH_TELLING: Final = 60.0
"""Seconds by which the page's clock may differ from the server's before the page is told."""

_ROUNDING: Final = 2.0
"""Differences this small come from whole seconds and the way over the network."""


class Chance(Protocol):
    """Randomness, fresh in every page (a start-up snapshot freezes the `random` module)."""

    def token(self) -> str:
        """Return 128 or more unguessable bits as base64url."""
        ...

    def fraction(self) -> float:
        """Return a number from 0 up to 1."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What the page said: the service's address and origin, the provider, and whether there is a `getToken`."""

    base_url: str
    service_origin: str
    page_origin: str
    provider_id: str
    custom_login: bool = False


@dataclass(slots=True)
class Context:
    """One widget's surroundings. `now` is the page's time at the event being handled."""

    settings: Settings
    chance: Chance
    now: float = 0.0
    key: PublicKey | None = None
    offset: float | None = None
    effects: list[Effect] = field(default_factory=list)
    journal: deque[dict[str, object]] = field(default_factory=lambda: deque(maxlen=JOURNAL_LENGTH))
    counters: Counter[str] = field(default_factory=Counter)
    timers: dict[str, float] = field(default_factory=dict)
    notice: str | None = None
    notice_phase: Phase | None = None
    _refs: int = 0
    _skew_told: bool = False

    @property
    def server_now(self) -> float:
        """The server's time, as far as it is known."""
        return self.now + (self.offset or 0.0)

    @property
    def connection_key(self) -> PublicKey:
        """The key, where it must be there by now."""
        if self.key is None:
            raise WidgetError("widget_failed", "The connection key was needed before it was ready.")
        return self.key

    def learn_time(self, server_time: float) -> None:
        """Take over the server's time; tokens are judged in it. A large difference is told once."""
        difference = server_time - self.now
        self.offset = 0.0 if abs(difference) <= _ROUNDING else difference
        if abs(difference) > SKEW_WORTH_TELLING and not self._skew_told:
            self._skew_told = True
            self.emit("warning", code="clock_skew", seconds=round(-difference))

    def new_ref(self) -> int:
        """Return a number for an effect whose answer must be recognised."""
        self._refs += 1
        return self._refs

    def do(self, effect: Effect) -> None:
        """Ask for an effect."""
        self.effects.append(effect)

    def emit(self, name: str, /, **detail: object) -> None:
        """Tell the page, and note it in the journal."""
        self.counters[name] += 1
        self.journal.append({"at": self.now, "name": name, "detail": detail})
        self.do(Emit(name, detail))

    def report(self, error: WidgetError) -> None:
        """Tell the page of an error, and the person if it concerns them."""
        if error.said is not None:
            self.notice, self.notice_phase = error.said, error.phase
        self.emit("error", **error.detail())

    def set_timer(self, name: str, seconds: float) -> None:
        """Start a timer, or start it again."""
        self.timers[name] = self.now + seconds
        self.do(SetTimer(name, seconds))

    def cancel_timer(self, name: str) -> None:
        """Stop a timer if it runs."""
        if self.timers.pop(name, None) is not None:
            self.do(CancelTimer(name))

    def take_effects(self) -> list[Effect]:
        """Return what is to be done and forget it."""
        taken, self.effects = self.effects, []
        return taken

    def seconds_left(self) -> Mapping[str, float]:
        """Return the running timers with the seconds they have left."""
        return {name: round(due - self.now, 3) for name, due in self.timers.items()}
