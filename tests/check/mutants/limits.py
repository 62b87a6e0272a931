"""Endpoints that limit the size of requests or the members of bodies; some of them trust what fits into the limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from tests.check.mutants.mutant_backend import BROKEN, PEOPLE, UNUSUAL, Backend, Claims, register, with_answer
from tests.check.mutants.mutant_server import Answer, Request

broken, unusual = register(BROKEN), register(UNUSUAL)


class Limited(Backend):
    """Refuses requests that are too large, or that have unknown members or headers."""

    most_body = 100_000
    most_query = 4_000
    most_headers = 16_000
    members: frozenset[str] | None = None
    most_members = 100
    refused_header = ""

    async def endpoint(self, request: Request) -> Answer:
        refused = next((status for status, over in self.limits(request) if over), None)
        return self.refusal(refused, "refused") if refused else await super().endpoint(request)

    def limits(self, request: Request) -> Iterable[tuple[int, bool]]:
        """Yield each status with whether the request is over the limit to which the status belongs."""
        body = self.parsed(request) if request.body else None
        names = body.keys() if isinstance(body, dict) else frozenset[str]()
        yield 431, length(request.headers) > self.most_headers
        yield 403, self.refused_header in request.headers
        yield 414, length(request.query) > self.most_query
        yield 413, len(request.body) > self.most_body
        yield 422, self.members is not None and bool(names - self.members)
        yield 400, len(names) > self.most_members


def length(pairs: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in pairs.items())


class Trusting(Limited):
    """Takes the identity from the request if somebody has that id."""

    def named(self, request: Request, body: Any) -> object:
        return body.get("user_id") if isinstance(body, dict) else None

    def person(self, request: Request, body: Any) -> Claims | None:
        named = str(self.named(request, body))
        known = next((dict(one) for one in PEOPLE.values() if one["uid"] == named), None)
        return known or super().person(request, body)


class InAddress(Trusting):
    def named(self, request: Request, body: Any) -> object:
        return request.query.get("userId")


def limited(name: str, base: type[Limited] = Trusting, **limits: Any) -> None:
    backend = cast("type[Limited]", type("Limited", (base,), limits))
    register(BROKEN if issubclass(base, Trusting) else UNUSUAL)(name)(backend)


for most in (1000, 256, 100):
    limited(f"body-of-{most}-names-user", most_body=most)
    limited(f"BodyOf{most}", Limited, most_body=most)
limited("known-members-name-user", members=frozenset({"jkt", "user_id"}))
limited("few-members-name-user", most_members=4)
limited("short-address-names-user", InAddress, most_query=60)
limited("OnlyJkt", Limited, members=frozenset({"jkt"}))
limited("FewMembers", Limited, most_members=4)
limited("ShortAddress", Limited, most_query=60)
limited("LittleRoomForHeaders", Limited, most_headers=900)
limited("NoRoomForNames", Limited, most_body=58)
limited("NoRemoteUser", Limited, refused_header="remote-user")


def by_header(name: str, header: str, **limits: Any) -> None:
    """Register a backend that trusts a header."""
    named = {"named": lambda _self, request, _body: request.headers.get(header)}
    limited(name, type("ByHeader", (Trusting,), named), **limits)


by_header("impersonates-by-header", "x-impersonate-user", refused_header="remote-user")
by_header("small-headers-name-user", "x-user-id", most_headers=700)
by_header("acts-on-behalf", "x-on-behalf-of")


@broken("number-names-user")
class NumberNamesUser(Trusting):
    """Knows people by number, and adds a prefix in the token."""

    def named(self, request: Request, body: Any) -> object:
        number = body.get("customerId") if isinstance(body, dict) else None
        return f"u-{number}" if isinstance(number, int) else None


@broken("limited-visitor-names-user")
class VisitorNamesUser(Trusting):
    """Trusts the id only if nobody is logged in."""

    most_body = 128

    def person(self, request: Request, body: Any) -> Claims | None:
        return Limited.person(self, request, body) or super().person(request, body)


with_answer(UNUSUAL, "LimitUsedUp", lambda _answer, _token: Answer(429, [("Content-Type", "text/plain")], b"slow down"))
