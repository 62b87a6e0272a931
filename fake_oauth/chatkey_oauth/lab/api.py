"""The control API under `/lab`. Responses are JSON with the result in `data`; errors have a code (D-02, D-14)."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from chatkey_oauth.engine.http import Answer, json_answer
from chatkey_oauth.engine.text import clean
from chatkey_oauth.lab.clients_and_people import client_handlers, people_handlers
from chatkey_oauth.lab.endpoints import get
from chatkey_oauth.lab.faults import fault_handlers
from chatkey_oauth.lab.flows import flow_handlers
from chatkey_oauth.lab.lab_wire import Data
from chatkey_oauth.lab.openapi import described
from chatkey_oauth.lab.providers import provider_handlers
from chatkey_oauth.lab.refusals import DOCUMENT, LabRefused
from chatkey_oauth.lab.requests import requests_handler
from chatkey_oauth.lab.world import world_handlers

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.fake import Fake


class Control:
    """The control API of one fake whose lab is on."""

    def __init__(self, fake: Fake) -> None:
        self.endpoints = (
            *world_handlers(fake),
            *provider_handlers(fake),
            *client_handlers(fake),
            *people_handlers(fake),
            *fault_handlers(fake),
            *flow_handlers(fake),
            requests_handler(fake),
        )
        self._document = get(DOCUMENT.removeprefix("/lab"), "This description")(self.description)

    async def answer(self, call: Call) -> Answer:
        try:
            return await self._answer(call)
        except LabRefused as refused:
            return failure(refused.status, refused.code, str(refused))

    def description(self) -> Answer:
        return json_answer(described(self.endpoints))

    async def _answer(self, call: Call) -> Answer:
        path = call.path.rstrip("/")
        found = {one.method: one for one in (*self.endpoints, self._document) if one.is_at(path)}
        if not found:
            raise LabRefused(404, "not_found", f"Nothing exists at {path}; {DOCUMENT} lists the endpoints.")
        asked = found.get("GET" if call.method == "HEAD" else call.method)
        if asked is None:
            allowed = ", ".join(found)
            return failure(405, "method_not_allowed", f"The methods at {path} are {allowed}.", allow=allowed)
        result = asked.handler(**asked.arguments(path, call))
        if isawaitable(result):
            result = await result
        return result if isinstance(result, Answer) else json_answer(Data(result), asked.status)


def failure(status: int, code: str, message: str, **headers: str) -> Answer:
    body: dict[str, Any] = {"data": None, "error": {"code": code, "message": clean(message)}}
    return json_answer(body, status, headers.items())
