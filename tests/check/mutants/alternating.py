"""Endpoints whose answers alternate, or that are protected by something that does not know the widget."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.check.mutants.mutant_backend import BROKEN, PEOPLE, UNUSUAL, Backend, Claims, register
from tests.check.mutants.mutant_server import Answer, Request
from tests.check.mutants.unusual_shapes import GraphQl

broken, unusual = register(BROKEN), register(UNUSUAL)


@broken("logout-reaches-one-worker")
class LogoutReachesOneWorker(Backend):
    options = {"logout_url": "{base}/logout"}
    turns = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.others = dict(self.sessions)

    def person(self, request: Request, body: Any) -> Claims | None:
        self.turns += 1
        name = (self.others if self.turns % 2 else self.sessions).get(request.cookies.get(self.cookie, ""))
        return dict(PEOPLE[name]) if name else None


@broken("seventh-answer-wrapped")
class SeventhAnswerWrapped(Backend):
    def answer(self, request: Request, token: Any) -> Answer:
        return self.json(200, {"data": {"token": token}}) if self.calls % 7 == 0 else super().answer(request, token)


@broken("seventh-answer-html")
class SeventhAnswerHtml(Backend):
    """Counts the answers to Ada, because the order of simultaneous calls is chance."""

    answers_to_ada = 0

    def answer(self, request: Request, token: Any) -> Answer:
        made = super().answer(request, token)
        self.answers_to_ada += self.person(request, None) == PEOPLE["ada"]
        return made.set("Content-Type", "text/html") if self.answers_to_ada % 7 == 0 else made


@broken("firewall-refuses-dashes")
class FirewallRefusesDashes(Backend):
    async def endpoint(self, request: Request) -> Answer:
        return Answer(403, [], b"blocked") if b"--" in request.body else await super().endpoint(request)


@broken("graphql-errors-for-visitors")
class GraphQlErrors(GraphQl):
    def answer(self, request: Request, token: Any) -> Answer:
        errors = {"errors": [{"message": "not authenticated"}], "data": None}
        return super().answer(request, token) if token else self.json(200, errors)


@broken("slow-worker")
class SlowWorker(Backend):
    async def endpoint(self, request: Request) -> Answer:
        await asyncio.sleep(1.2 if self.calls % 4 == 0 else 0)
        return await super().endpoint(request)


class Refusing(Backend):
    """Knows a session that has expired, and one whose second factor is missing."""

    options = {"must_refuse": (("Cookie", "sid=s-expired-5d1f0c"), ("Cookie", "sid=s-pending-7a9b2e"))}


unusual("RefusesExpired")(Refusing)


@broken("expired-session-gets-token")
class ExpiredGetsToken(Refusing):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.sessions["s-pending-7a9b2e"] = "ada"
