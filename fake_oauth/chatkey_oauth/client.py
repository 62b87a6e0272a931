"""A typed client for the lab, with which a test arms faults and inspects logins. Needs only a running fake.

with FakeOAuth("http://127.0.0.1:9911") as fake, fake.misbehave("status-500", Scope(provider="github")):
    ...  # log in, and check how your application copes
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
from chatkey_oauth.engine.world import Message
from chatkey_oauth.faults.rules import FaultInfo, Order, Rule, Scope
from chatkey_oauth.lab.lab_wire import (
    AutoApproval,
    Data,
    Keys,
    Mint,
    Overview,
    Requests,
    SessionShown,
    SwitchShown,
    Time,
)
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
    "Message",
    "Overview",
    "Person",
    "Rule",
    "Scope",
    "SessionShown",
    "Step",
    "SwitchShown",
    "Verdict",
    "timeline_text",
]

T = TypeVar("T")

EVERYONE = Scope()
NONE: Mapping[str, Any] = MappingProxyType({})
PATIENCE = 30
"""The default timeout for a response, in seconds. If a request has a `wait`, this time is added."""


class LabError(Exception):
    """The lab refused a request.

    `status` and `code` identify the error. The message names the request and the invalid member.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class FaultNotHit(AssertionError):
    """An armed fault never acted, so the test did not cover the fault."""

    def __init__(self, rule: Rule) -> None:
        asked = ((name, getattr(rule.scope, name)) for name in rule.scope.__struct_fields__)
        whom = ", ".join(f"{name} {value!r}" for name, value in asked if value is not None) or "everyone"
        super().__init__(
            f"The fault {rule.fault!r} for {whom} was armed but never acted. Either no request reached a leg on "
            "which the fault acts, or no such request was in the scope of the fault. See the timelines at /lab/flows."
        )
        self.rule = rule


class FakeOAuth:
    """A client for the lab of one running fake, whose base address is `url`.

    `verify` is the TLS verification setting. `token` is the value of the fake's CHATKEY_LAB_TOKEN, if that is set.
    `patience` is the timeout for a response, in seconds.
    Every method raises `LabError` if the lab refuses, and `httpx.HTTPError` if there is no response.
    """

    def __init__(
        self,
        url: str,
        *,
        verify: ssl.SSLContext | bool = True,
        transport: httpx.BaseTransport | None = None,
        token: str = "",
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        self.url: Final = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/lab",
            verify=verify,
            transport=transport,
            headers=bearer(token),
            limits=httpx.Limits(max_keepalive_connections=0),  # idle TLS connections delay a server restart
            timeout=patience,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # The fake as a whole

    def overview(self) -> Overview:
        """Return an overview of clients, rules, switches and counts, with the fault catalogue."""
        return self._ask(Overview, "GET", "")

    def now(self) -> float:
        """Return the fake's time in seconds since the epoch."""
        return self._ask(Time, "GET", "/clock").now

    def advance(self, seconds: float) -> float:
        """Move the fake's clock forward, and return the new time."""
        return self._ask(Time, "POST", "/clock", {"advance": seconds}).now

    def reset(self) -> None:
        """Restore the initial clients, people, switches and clock. Delete all faults, flows, codes and tokens."""
        self._ask(Time, "POST", "/reset")

    # Applications and people

    def clients(self) -> list[Client]:
        """Return the registered clients, without their secrets."""
        return self._ask(list[Client], "GET", "/clients")

    def add_client(
        self, provider: str, *, client_id: str, redirect_uris: Sequence[str], client_secret: str = "", **members: Any
    ) -> Client:
        """Register a client. A client with the same id is replaced. `members` are other fields of `Client`."""
        client = Client(
            provider=provider,
            client_id=client_id,
            client_secret=client_secret,
            redirect_uris=tuple(redirect_uris),
            **members,
        )
        return self._ask(Client, "POST", "/clients", client)

    def remove_client(self, provider: str, client_id: str) -> None:
        self._ask(type(None), "DELETE", f"/clients/{segment(provider)}/{segment(client_id)}")

    def people(self) -> list[Person]:
        return self._ask(list[Person], "GET", "/people")

    def put_person(self, person: Person) -> Person:
        """Add a person. A person with the same id is replaced."""
        return self._ask(Person, "PUT", f"/people/{segment(person.id)}", person)

    def remove_person(self, person_id: str) -> None:
        """Remove a person. The person's tokens become invalid."""
        self._ask(type(None), "DELETE", f"/people/{segment(person_id)}")

    # Faults

    def catalogue(self) -> list[FaultInfo]:
        """Return every fault that can be armed, with its options."""
        return self.overview().faults

    def arm(self, fault: str, scope: Scope = EVERYONE, *, times: int | None = 1, **options: Any) -> Rule:
        """Arm a fault for a scope, with the fault's `options`.

        The fault acts `times` times. If `times` is None, it acts until it is disarmed.
        """
        return self._ask(Rule, "POST", "/faults", Order(fault=fault, scope=scope, times=times, with_=options))

    def disarm(self, rule_id: str) -> Rule:
        """Remove a rule, and return it with the number of its hits."""
        return self._ask(Rule, "DELETE", f"/faults/{segment(rule_id)}")

    def rules(self) -> list[Rule]:
        """Return the rules with their numbers of hits, including spent rules."""
        return self._ask(list[Rule], "GET", "/faults")

    @contextmanager
    def misbehave(
        self, fault: str, scope: Scope = EVERYONE, *, times: int | None = 1, **options: Any
    ) -> Iterator[Rule]:
        """Arm a fault for the duration of a block. Raises `FaultNotHit` at the end of the block if the fault never
        acted.
        """
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
        """Return the flows that match a scope, newest first."""
        return self._ask(list[Flow], "GET", "/flows", query=msgspec.to_builtins(scope))

    def flow(self, flow_id: str) -> Flow:
        """Return one flow with its timeline."""
        return self._ask(Flow, "GET", f"/flows/{segment(flow_id)}")

    def timeline(self, flow_id: str) -> str:
        """Return the timeline of a flow as text."""
        return timeline_text(self.flow(flow_id))

    def page_of(self, flow_id: str) -> str:
        """Return the URL of the page that shows a flow's timeline."""
        return str(self._http.base_url.join(f"flows/{segment(flow_id)}/page"))

    def sessions(self) -> list[SessionShown]:
        """Return the browsers in which a person is signed in at a provider, newest first."""
        return self._ask(list[SessionShown], "GET", "/sessions")

    def logouts(self) -> list[Message]:
        """Return the logout tokens that were sent to applications, newest first, with the responses."""
        return self._ask(list[Message], "GET", "/logouts")

    def requests(self, *, wait: float = 0, **filters: Any) -> list[Entry]:
        """Return the logged requests that match `filters`, which are the fields of `Wanted`.

        With `wait`, this method waits up to that many seconds (at most 30) for a match.
        """
        wanted = {name: value for name, value in msgspec.to_builtins(Wanted(**filters)).items() if value is not None}
        query = wanted | {"wait": wait}
        return self._ask(Requests, "GET", "/requests", query=query, wait=wait).requests

    # Controlling the providers

    def rotate_keys(self, provider: str) -> Keys:
        """Make a provider sign with a new key. The provider keeps publishing its earlier keys."""
        return self._ask(Keys, "POST", f"/providers/{segment(provider)}/keys")

    def switches(self) -> list[SwitchShown]:
        """Return all switches and whether they are on."""
        return self._ask(list[SwitchShown], "GET", "/switches")

    def switch(self, key: str, *, on: bool) -> SwitchShown:
        """Turn a switch, such as `discord.iss`, on or off."""
        return self._ask(SwitchShown, "PUT", f"/switches/{segment(key)}", {"on": on})

    def token(
        self,
        provider: str,
        client_id: str,
        account: str | None = None,
        *,
        scopes: Sequence[str] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Issue tokens without a login, and return the token response. `more` are other fields of `Mint`.

        Without an account, the tokens are for the application itself.
        """
        asked = Mint(provider, client_id, account, None if scopes is None else list(scopes), **more)
        return self._ask(dict[str, Any], "POST", "/token", asked)

    def auto_approve(self, account: str | None) -> None:
        """Approve every authorization request as this account, without a page. None restores the page."""
        self._ask(AutoApproval, "PUT", "/auto-approve", AutoApproval(account))

    # Requests

    def _ask(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] = NONE,
        wait: float = 0,
    ) -> T:
        content = None if body is None else msgspec.json.encode(body)
        headers = {"accept": "application/json", "content-type": "application/json"}
        answer = self._http.request(
            method, path, params=dict(query), content=content, headers=headers, timeout=self._patience + wait
        )
        if not answer.is_success:
            raise refusal(answer)
        return msgspec.json.decode(answer.content, type=Data[kind]).data  # type: ignore[valid-type]


def refusal(answer: httpx.Response) -> LabError:
    """Convert an error response into a `LabError`, even if it did not come from a lab."""
    asked = f"{answer.request.method} {answer.request.url.path} was answered with {answer.status_code}"
    try:
        error = answer.json()["error"]
        return LabError(answer.status_code, error["code"], f"{asked}: {error['message']}")
    except (ValueError, KeyError, TypeError):
        hint = " (Is the lab on, and is this its address?)" if answer.status_code == 404 else ""
        return LabError(answer.status_code, f"http_{answer.status_code}", f"{asked}: {answer.text[:2000]}{hint}")


def segment(text: str) -> str:
    """Quote text as one path segment."""
    return quote(text, safe="")
