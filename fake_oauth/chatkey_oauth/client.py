"""A typed client of the lab: what a test arranges at the fake and what it sees there. Needs nothing but a running fake.

with FakeOAuth("http://127.0.0.1:9911") as fake, fake.misbehave("status-500", Scope(provider="github")):
    ...  # log in, and look what your application makes of it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from chatkey_lab.guard import bearer
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.flows import COOKIE as FLOW_COOKIE
from chatkey_oauth.engine.flows import Flow, Leg, Step, Verdict
from chatkey_oauth.engine.people import Person
from chatkey_oauth.faults.rules import FaultInfo, Order, Rule, Scope
from chatkey_oauth.lab.lab_wire import AutoApproval, Data, Keys, Overview, Requests, SwitchShown, Time
from chatkey_oauth.request_log import Entry, Wanted
from chatkey_oauth.timeline import timeline_text

if TYPE_CHECKING:
    import ssl
    from types import TracebackType
    from typing import Self

__all__ = [
    "FLOW_COOKIE",
    "Client",
    "Entry",
    "FakeOAuth",
    "FaultInfo",
    "FaultNotHit",
    "Flow",
    "Keys",
    "LabError",
    "Leg",
    "Overview",
    "Person",
    "Rule",
    "Scope",
    "Step",
    "SwitchShown",
    "Verdict",
    "timeline_text",
]

T = TypeVar("T")

EVERYONE = Scope()
NONE: Mapping[str, Any] = MappingProxyType({})
PATIENCE = 30
"""Seconds an answer may take, beside the waiting that was asked for."""


class LabError(Exception):
    """The lab refused. `status` and `code` say how; the message names the request and the member at fault."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class FaultNotHit(AssertionError):
    """A fault was armed and never met, so that whatever was to be shown with it was not shown."""

    def __init__(self, rule: Rule) -> None:
        asked = ((name, getattr(rule.scope, name)) for name in rule.scope.__struct_fields__)
        whom = ", ".join(f"{name} {value!r}" for name, value in asked if value is not None) or "everyone"
        super().__init__(
            f"The fault {rule.fault!r} for {whom} was armed and never hit. Either no request reached the leg it acts "
            "on, or none was in its scope: the timelines at /lab/flows tell."
        )
        self.rule = rule


class FakeOAuth:
    """The lab of one running fake, at its base address `url`.

    `verify` is what TLS is verified with, `token` what a lab with CHATKEY_LAB_TOKEN asks for. Every method raises
    `LabError` when the lab refuses, and `httpx.HTTPError` when there is no answer.
    """

    def __init__(
        self,
        url: str,
        *,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.BaseTransport | None = None,
        token: str = "",
    ) -> None:
        self.url: Final = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/lab",
            verify=verify,
            transport=transport,
            headers=bearer(token),
            limits=httpx.Limits(max_keepalive_connections=0),  # an idle TLS peer holds back a server that restarts
            timeout=PATIENCE,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # The whole

    def overview(self) -> Overview:
        """Return everything there is, the catalogue of faults among it."""
        return self._ask(Overview, "GET", "")

    def now(self) -> float:
        """Return the fake's time, seconds since the epoch."""
        return self._ask(Time, "GET", "/clock").now

    def advance(self, seconds: float) -> float:
        """Move the fake's clock and return its new time."""
        return self._ask(Time, "POST", "/clock", {"advance": seconds}).now

    def reset(self) -> None:
        """Return to the state after the start: clients, people, clock; no faults, flows, codes and tokens."""
        self._ask(Time, "POST", "/reset")

    # Applications and people

    def clients(self) -> list[Client]:
        """Return the registered applications, without their secrets."""
        return self._ask(list[Client], "GET", "/clients")

    def add_client(
        self, provider: str, *, client_id: str, redirect_uris: Sequence[str], client_secret: str = "", **members: Any
    ) -> Client:
        """Register an application, or replace the one of the same id. `members` are further ones of `Client`."""
        client = Client(
            provider=provider,
            client_id=client_id,
            client_secret=client_secret,
            redirect_uris=tuple(redirect_uris),
            **members,
        )
        return self._ask(Client, "POST", "/clients", client)

    def remove_client(self, provider: str, client_id: str) -> None:
        """Forget an application."""
        self._ask(type(None), "DELETE", f"/clients/{segment(provider)}/{segment(client_id)}")

    def people(self) -> list[Person]:
        """Return everyone who can sign in."""
        return self._ask(list[Person], "GET", "/people")

    def put_person(self, person: Person) -> Person:
        """Add a person, or replace the one of the same id."""
        return self._ask(Person, "PUT", f"/people/{segment(person.id)}", person)

    def remove_person(self, person_id: str) -> None:
        """Forget a person; what they were given stops working."""
        self._ask(type(None), "DELETE", f"/people/{segment(person_id)}")

    # Faults

    def catalogue(self) -> list[FaultInfo]:
        """Return every fault that can be armed, with its options."""
        return self.overview().faults

    def arm(self, fault: str, scope: Scope = EVERYONE, *, times: int | None = 1, **options: Any) -> Rule:
        """Arm a fault for a scope, so many times (None: until it is disarmed). `options` are those of the fault."""
        return self._ask(Rule, "POST", "/faults", Order(fault=fault, scope=scope, times=times, with_=options))

    def disarm(self, rule_id: str) -> Rule:
        """Take a rule away, and return it with its hits."""
        return self._ask(Rule, "DELETE", f"/faults/{segment(rule_id)}")

    def rules(self) -> list[Rule]:
        """Return the armed rules with their hits, spent ones among them."""
        return self._ask(list[Rule], "GET", "/faults")

    @contextmanager
    def misbehave(
        self, fault: str, scope: Scope = EVERYONE, *, times: int | None = 1, **options: Any
    ) -> Iterator[Rule]:
        """Arm a fault for the length of a block. Raises `FaultNotHit` at its end when the fault was never met."""
        rule = self.arm(fault, scope, times=times, **options)
        try:
            yield rule
        except BaseException:
            self.disarm(rule.id)
            raise
        disarmed = self.disarm(rule.id)
        if not disarmed.hits:
            raise FaultNotHit(disarmed)

    # What happened

    def flows(self, scope: Scope = EVERYONE) -> list[Flow]:
        """Return the flows of a scope, the newest first."""
        return self._ask(list[Flow], "GET", "/flows", query=msgspec.to_builtins(scope))

    def flow(self, flow_id: str) -> Flow:
        """Return one flow with its timeline."""
        return self._ask(Flow, "GET", f"/flows/{segment(flow_id)}")

    def timeline(self, flow_id: str) -> str:
        """Return the timeline of a flow as text."""
        return timeline_text(self.flow(flow_id))

    def page_of(self, flow_id: str) -> str:
        """Return the address at which a person sees the timeline of a flow."""
        return str(self._http.base_url.join(f"flows/{segment(flow_id)}/page"))

    def requests(self, *, wait: float = 0, **filters: Any) -> list[Entry]:
        """Return what was received and matches `filters`, which are those of `Wanted`.

        With `wait`, stay up to so many seconds, 30 at most, until anything matches.
        """
        wanted = {name: value for name, value in msgspec.to_builtins(Wanted(**filters)).items() if value is not None}
        query = wanted | {"wait": wait}
        return self._ask(Requests, "GET", "/requests", query=query, timeout=PATIENCE + wait).requests

    # Handles on the providers

    def rotate_keys(self, provider: str) -> Keys:
        """Let a provider sign with a new key; the former ones stay published."""
        return self._ask(Keys, "POST", f"/providers/{segment(provider)}/keys")

    def switches(self) -> list[SwitchShown]:
        """Return the behaviours that may be either way, and how they stand."""
        return self._ask(list[SwitchShown], "GET", "/switches")

    def switch(self, key: str, *, on: bool) -> SwitchShown:
        """Set one of them, such as `discord.iss`."""
        return self._ask(SwitchShown, "PUT", f"/switches/{segment(key)}", {"on": on})

    def auto_approve(self, account: str | None) -> None:
        """Let an account approve every request at once; None: the consent page asks again."""
        self._ask(AutoApproval, "PUT", "/auto-approve", AutoApproval(account))

    # The wire

    def _ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] = NONE,
        timeout: float = PATIENCE,
    ) -> T:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"accept": "application/json", "content-type": "application/json"}
        answer = self._http.request(method, path, params=dict(query), content=content, headers=headers, timeout=timeout)
        if not answer.is_success:
            raise refusal(answer)
        return msgspec.json.decode(answer.content, type=Data[kind]).data  # type: ignore[valid-type]


def refusal(answer: httpx.Response) -> LabError:
    """The error that an answer of the lab, or of whatever else answers there, stands for."""
    asked = f"{answer.request.method} {answer.request.url.path} was answered {answer.status_code}"
    try:
        error = answer.json()["error"]
        return LabError(answer.status_code, error["code"], f"{asked}: {error['message']}")
    except (ValueError, KeyError, TypeError):
        hint = " (Is the lab on, and is this its address?)" if answer.status_code == 404 else ""
        return LabError(answer.status_code, f"http_{answer.status_code}", f"{asked}: {answer.text[:2000]}{hint}")


def segment(text: str) -> str:
    """Text as one segment of a path."""
    return quote(text, safe="")
