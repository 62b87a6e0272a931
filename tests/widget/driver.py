"""Runs a widget in a simulated browser, with simulated people."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from tests import profile
from tests.widget import declared

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_protocol.names import REVISION
from chatkey_widget import effects, events
from chatkey_widget.context import Settings
from chatkey_widget.kept_call import KeptCall
from chatkey_widget.keys import PublicKey
from chatkey_widget.machine import Machine
from chatkey_widget.server_time import ServerTime
from chatkey_widget.timers import Timer
from chatkey_widget.view import View

NOW = 1_800_000_000.0
MOST_EFFECTS = 5000
PID = "prov_1"
KEY = PublicKey("MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM")
OTHER_JKT = "x" * 43
VISITOR = ("visitor", KEY.uid)
ADA = ("member", "ada")
GRACE = ("member", "google:42")
SETTINGS = Settings("https://chat.test", "https://chat.test", "https://shop.test", PID)

E = TypeVar("E", bound=effects.Effect)
Page = Callable[[effects.CallGetToken], events.Event | None]
Turn = Callable[[effects.AwaitTurn], events.Event | None]
Verdict = Callable[[Mapping[str, object]], tuple[str, Close] | None]


def jwt(**claims: object) -> str:
    """Make a token with an invalid signature. The widget does not verify signatures."""
    parts = (json.dumps({"alg": "HS256"}), json.dumps(claims), "signature")
    return ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts)


def claims_of(token: str) -> dict[str, object]:
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert isinstance(claims, dict)
    return claims


class FixedChance:
    """Random values for tests: numbered tokens, and a constant fraction."""

    def __init__(self) -> None:
        self.count = 0
        self.value = 1.0

    def token(self) -> str:
        self.count += 1
        return f"chance-{self.count}"

    def fraction(self) -> float:
        return self.value


class SeededChance(FixedChance):
    """Random values for tests: numbered tokens, and random fractions. The same seed gives the same fractions."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = Random(seed)

    def fraction(self) -> float:
        return self._random.random()


@dataclass
class Driver:
    """Feeds events to the state machine, answers as the service and as the page, and records all effects."""

    settings: Settings
    now: float = NOW
    server_ahead: float = 0.0
    cached: str | None = None
    degraded: str | None = None
    page: Page = lambda call: events.GetTokenReturned(call.ref, None)
    turn: Turn | None = None
    verdict: Verdict = lambda _: None
    answers_tokens: bool = True
    answers_frames: bool = True
    opens_microphone: bool = True
    announced: dict[str, int] = field(default_factory=lambda: {"revision": REVISION})
    socials: list[str] = field(default_factory=lambda: ["google", "github"])
    done: list[effects.Effect] = field(default_factory=list)
    timers: dict[Timer, float] = field(default_factory=dict)
    stored: str | None = None
    sign_in: str | None = None
    unsent: str | None = None
    call: KeptCall | None = None
    socket: int | None = None
    chance: FixedChance = field(default_factory=FixedChance)
    page_time: ServerTime = field(default_factory=ServerTime)

    def __post_init__(self) -> None:
        self.machine = Machine(self.settings, self.chance, self.page_time)
        self.stored = self.cached

    # actions of the test

    def start(self, *, secure: bool = True) -> Driver:
        """Start the widget, and answer all requests that it makes."""
        self.feed(events.Started(secure=secure))
        return self

    def feed(self, *given: events.Event) -> None:
        """Feed events. Then feed the answers of the service and the page to the effects that result."""
        queue = list(given)
        while queue:
            for effect in self.machine.handle(queue.pop(0), self.now):
                self.done.append(effect)
                assert len(self.done) < MOST_EFFECTS, "the widget does not come to rest"
                answers = self._answers(effect)
                for frame in (answer.frame for answer in answers if isinstance(answer, events.FrameReceived)):
                    profile.said_by_the_server(frame)
                queue.extend(answers)

    def frame(self, **frame: object) -> None:
        """Send a frame to the widget on the open socket, as the service would."""
        assert self.socket is not None, "there is no open socket"
        self.feed(events.FrameReceived(self.socket, frame))

    def close(self, code: int) -> None:
        ref, self.socket = self.socket, None
        assert ref is not None, "there is no open socket"
        self.feed(events.SocketClosed(ref, code))

    def advance(self, seconds: float) -> None:
        """Let time pass, and fire each timer when it is due."""
        end = self.now + seconds
        while self.timers and min(self.timers.values()) <= end:
            name = min(self.timers, key=lambda name: self.timers[name])
            self.now = max(self.now, self.timers.pop(name))
            self.feed(events.TimerFired(name))
        self.now = end

    def sleep(self, seconds: float) -> None:
        """Let time pass as on a sleeping laptop. When the laptop wakes up, every timer that is due fires once."""
        self.now += seconds
        overdue: list[Timer] = [name for name, due in self.timers.items() if due <= self.now]
        for name in overdue:
            if self.timers.get(name, self.now + 1) <= self.now:
                del self.timers[name]
                self.feed(events.TimerFired(name))

    # what happened

    def all(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.done if isinstance(effect, kind)]

    def last(self, kind: type[E]) -> E:
        return self.all(kind)[-1]

    def emitted(self, name: str) -> list[Mapping[str, object]]:
        """Return the details of the emitted events with this name."""
        return [emit.detail for emit in self.all(effects.Emit) if emit.name == name]

    def errors(self) -> list[object]:
        """Return the codes of the emitted errors, in order."""
        return [detail["code"] for detail in self.emitted("error")]

    def frames(self, kind: Kind) -> list[Mapping[str, object]]:
        """Return the frames of this kind that the widget sent."""
        return [send.frame for send in self.all(effects.Send) if send.frame["type"] == kind]

    def counts(self) -> Counter[str]:
        return Counter(type(effect).__name__ for effect in self.done)

    def calls(self) -> list[tuple[str, int]]:
        """Return the reason and attempt of every `getToken` call."""
        return [(call.reason, call.attempt) for call in self.all(effects.CallGetToken)]

    def connects(self) -> list[str]:
        """Return the tokens with which the widget connected, in order."""
        return [str(frame["token"]) for frame in self.frames(Kind.CONNECT)]

    def sockets(self) -> int:
        return self.counts()["OpenSocket"]

    @property
    def view(self) -> View:
        shown = self.all(effects.Show)
        return shown[-1].view if shown else View()

    @property
    def identity(self) -> tuple[object, object]:
        """The identity and uid that the widget last reported to the page."""
        detail = self.emitted("identity:changed")[-1]
        return detail["identity"], detail["uid"]

    # tokens

    @property
    def server_now(self) -> int:
        return int(self.now + self.server_ahead)

    def custom(self, **changes: object) -> str:
        """Make the token of an integrator's backend (contract 2.4)."""
        now = self.server_now
        claims: dict[str, object] = {
            "pid": PID,
            "uid": "ada",
            "type": "user",
            "cnf": {"jkt": KEY.jkt},
            "name": "Ada Lovelace",
            "iat": now,
            "exp": now + 3600,
        }
        return jwt(**{name: value for name, value in (claims | changes).items() if value is not ...})

    def identity_token(self, **changes: object) -> str:
        """Make the identity token of a social login (contract 2.5)."""
        now = self.server_now
        standard = {"uid": "google:42", "type": "identity", "name": "Grace Hopper", "exp": now + 86_400}
        return self.custom(**(standard | changes))

    # the service and the page

    def _answers(self, effect: effects.Effect) -> list[events.Event]:
        match effect:
            case effects.PrepareKey():
                kept = {"sign_in": self.sign_in, "unsent": self.unsent}
                return [events.KeyReady(KEY, self.stored, self.degraded, **kept, call=self.call)]
            case effects.LoadConfiguration():
                return [events.ConfigurationLoaded(self._configuration())]
            case effects.LoadVisitorToken(ref, uid) if self.answers_tokens:
                token = jwt(pid=PID, uid=uid, type="visitor", iat=self.server_now, exp=self.server_now + 90)
                return [events.TokenLoaded(ref, token, "wss://chat.test/v1/socket")]
            case effects.ExchangeIdentityToken(ref, token, jkt) if self.answers_tokens:
                claims = claims_of(token) | {"type": "user", "cnf": {"jkt": jkt}, "iat": self.server_now}
                claims["exp"] = self.server_now + 120
                return [events.TokenLoaded(ref, jwt(**claims), "wss://chat.test/v1/socket")]
            case effects.AwaitTurn() | effects.CallGetToken():
                answer = self._answer_of_page(effect)
                return [] if answer is None else [answer]
            case _:
                self._remember(effect)
                return self._answers_of_others(effect)

    def _answer_of_page(self, effect: effects.AwaitTurn | effects.CallGetToken) -> events.Event | None:
        if isinstance(effect, effects.CallGetToken):
            return self.page(effect)
        return self.turn(effect) if self.turn else events.TurnCame(effect.ref, self.stored)

    def _remember(self, effect: effects.Effect) -> None:
        match effect:
            case effects.StoreToken(token):
                self.stored = token
            case effects.DropToken(token) if token == self.stored:
                self.stored = None
            case effects.AnnounceLogout():
                self.stored = None
            case effects.KeepSignIn(sign_in):
                self.sign_in = sign_in
            case effects.KeepUnsent(unsent):
                self.unsent = unsent
            case effects.KeepCall(kept):
                self.call = kept
            case effects.SetTimer(name, seconds):
                self.timers[name] = self.now + seconds
            case effects.CancelTimer(name):
                self.timers.pop(name, None)
            case effects.Send(_, frame):
                profile.said_by_the_widget(frame)
            case effects.Emit(name, detail):
                declared.emitted(name, detail)
            case _:
                pass

    def _answers_of_others(self, effect: effects.Effect) -> list[events.Event]:
        match effect:
            case effects.OpenSocket(ref, _) if self.answers_frames:
                self.socket = ref
                hello = {"type": "hello", "nonce": f"nonce-{ref}", "server_time": self.server_now}
                return [events.SocketOpened(ref), events.FrameReceived(ref, hello | {"auth_timeout": 10, "ping": 25})]
            case effects.SignProof(ref):
                return [events.ProofSigned(ref, bytes(64))]
            case effects.OpenMicrophone(ref) if self.opens_microphone:
                return [events.MicrophoneOpened(ref)]
            case effects.Send(ref, frame) if frame["type"] == Kind.CONNECT:
                return self._judge(ref, claims_of(str(frame["token"])))
            case effects.CloseSocket(ref, _) if ref == self.socket:
                self.socket = None
            case effects.Send(ref, frame) if self.answers_frames and frame["type"] == Kind.PING:
                return [events.FrameReceived(ref, {"type": "pong", "server_time": self.server_now})]
            case _:
                pass
        return []

    def _judge(self, ref: int, claims: Mapping[str, object]) -> list[events.Event]:
        refusal = self.verdict(claims)
        if refusal is None:
            identity = "visitor" if claims["type"] == "visitor" else "member"
            ready = {"type": "ready", "identity": identity, "uid": claims["uid"], "expires_at": claims["exp"]}
            return [events.FrameReceived(ref, ready | {"server_time": self.server_now, **self.announced})]
        code, close = refusal
        self.socket = None
        error = {"type": "error", "code": code, "message": "Refused by the test.", "retryable": False}
        return [events.FrameReceived(ref, error), events.SocketClosed(ref, close)]

    def _configuration(self) -> dict[str, object]:
        return {
            "socket_uri": "wss://chat.test/v1/socket",
            "livechat": {"enabled": True, "title": "Chat with us", "greeting": "Hello!"},
            "service": {"enabled": True, "title": "Call us", "greeting": ""},
            "ui": {"colour": "#4f46e5", "position": "right", "locale": "en"},
            "auth": {"oauth_providers": self.socials},
        }


MakeWidget = Callable[..., Driver]


def click(widget: Driver, social: str = "google") -> dict[str, object]:
    """Click a social button, and return the message that the callback page would send."""
    widget.feed(events.SocialClicked(social))
    query = parse_qs(urlsplit(widget.last(effects.OpenPopup).url).query)
    token = widget.identity_token(uid=f"{social}:42")
    return {"type": "wf:oauth", "providerId": PID, "social": social, "nonce": query["nonce"][0], "token": token}


def post(widget: Driver, message: object, *, origin: str = "https://chat.test", from_popup: bool = True) -> None:
    widget.feed(events.PopupMessage(origin, from_popup, message))


def entry(seq: int, body: str, sender: str = "customer", **more: object) -> dict[str, object]:
    """Return a message as the server sends it."""
    return {"id": f"m{seq}", "seq": seq, "sender": sender, "name": None, "body": body, "sent_at": 100 + seq, **more}


def bodies(widget: Driver) -> list[tuple[str, str]]:
    """Return the text and the state of each message on the screen."""
    return [(line.body, line.state) for line in widget.view.lines]
