"""Endpoints whose requests or answers differ in format from the contract's example. Some also have a fault."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs

from tests.check.mutants.mutant_backend import BROKEN, UNUSUAL, Backend, register
from tests.check.mutants.mutant_server import Answer, Request

from chatkey_check.shape import Shape

unusual, broken = register(UNUSUAL), register(BROKEN)


@unusual("Thumbprint")
class Thumbprint(Backend):
    options = {"shape": Shape(body='{"thumbprint": "{jkt}", "app": "shop"}', token_at=("data", "token"))}

    def jkt(self, request: Request, body: Any) -> Any:
        return body.get("thumbprint") if isinstance(body, dict) and body.get("app") == "shop" else None

    def answer(self, request: Request, token: Any) -> Answer:
        return self.json(200, {"data": {"token": token} if token else None})


@unusual("GraphQl")
class GraphQl(Backend):
    QUERY = "mutation($jkt: String!) { chatToken(jkt: $jkt) }"
    options = {
        "shape": Shape(
            body='{"query": "%s", "variables": {"jkt": "{jkt}"}}' % QUERY,  # noqa: UP031 - braces mean something here
            token_at=("data", "chatToken"),
        )
    }

    def jkt(self, request: Request, body: Any) -> Any:
        variables = body.get("variables") if isinstance(body, dict) else None
        return variables.get("jkt") if isinstance(variables, dict) and body.get("query") == self.QUERY else None

    def answer(self, request: Request, token: Any) -> Answer:
        return self.json(200, {"data": {"chatToken": token}})


class FormShape(Backend):
    """Expects a form body instead of JSON."""

    options = {"shape": Shape(body="jkt={jkt}&for=chat")}

    def right_type(self, request: Request) -> bool:
        return request.headers.get("content-type", "") == "application/x-www-form-urlencoded"

    def parsed(self, request: Request) -> Any:
        return {name: values[0] for name, values in parse_qs(request.body.decode("utf-8", "replace")).items()}


unusual("FormShape")(FormShape)


class ByGet(Backend):
    """Expects GET with the jkt in the query."""

    options = {"shape": Shape("GET", "", (("k", "{jkt}"),))}

    async def endpoint(self, request: Request) -> Answer:
        jkt = request.query.get("k")
        if request.method != "GET" or not self.right_jkt(jkt):
            return self.refusal(400, "GET with k")
        person = self.person(request, None)
        return self.answer(request, self.token(person, jkt) if person else None)


unusual("ByGet")(ByGet)


@unusual("RawToken")
class RawToken(Backend):
    options = {"shape": Shape(token_at=())}

    def answer(self, request: Request, token: Any) -> Answer:
        return Answer(200, [("Content-Type", "text/plain"), ("Cache-Control", "no-store")], (token or "").encode())


@unusual("ByPut")
class ByPut(Backend):
    options = {"shape": Shape("PUT")}

    async def endpoint(self, request: Request) -> Answer:
        if request.method != "PUT":
            return self.refusal(405, "PUT only")
        request.method = "POST"
        return await super().endpoint(request)


@broken("get-caches-jkt")
class GetCachesJkt(ByGet):
    """Caches a person's first token, and returns this token to all browsers of the person."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.known: dict[str, Any] = {}

    def token(self, person: Any, jkt: Any) -> Any:
        return self.known.setdefault(person["uid"], super().token(person, jkt))


@broken("form-any-jkt")
class FormAnyJkt(FormShape):
    def right_jkt(self, jkt: Any) -> bool:
        return isinstance(jkt, str) and re.fullmatch(r"[\w-]{43}", jkt) is not None


@broken("own-place-is-wrong")
class OwnPlaceIsWrong(Backend):
    options = {"shape": Shape(token_at=("data", "token"))}


@unusual("ReadsJsonByPattern")
class ReadsJsonByPattern(Backend):
    pattern = re.compile(rb'"jkt":"([^"]*)"')

    def jkt(self, request: Request, body: Any) -> Any:
        found = self.pattern.search(request.body)
        return found[1].decode() if found and isinstance(body, dict) and isinstance(body.get("jkt"), str) else None


@broken("reads-json-by-pattern-with-space")
class ReadsJsonByPatternWithSpace(ReadsJsonByPattern):
    pattern = re.compile(rb'"jkt": "([^"]*)"')
