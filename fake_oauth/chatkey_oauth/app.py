"""The fake as an application. It combines the providers with the lab, which is the control API for tests."""

from __future__ import annotations

import asyncio
import math
from functools import cached_property
from typing import TYPE_CHECKING, Final

from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.asgi import call_of, live, read_body, send_answer
from chatkey_oauth.engine.http import Answer, text_answer
from chatkey_oauth.fake import Fake
from chatkey_oauth.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from chatkey_lab.guard import LabRules
    from chatkey_oauth.engine.asgi import Receive, Scope, Send
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.lab.api import Control
    from chatkey_serving.site import Asked

TOO_LARGE: Final = text_answer("The body is too large.", 413)
LAB: Final = "/lab/"
BODY_BYTES: Final = 64 * 1024
"""The largest body that a provider reads."""
MOST_BYTES: Final = 1024 * 1024
"""The largest body that the lab reads."""


class App(Fake):
    """A fake with its lab. If the lab is on, the control API is under `/lab`.

    The server calls `respond`. An app is also an ASGI application, so that a test can use it without a socket.

    The providers and the lab are plain functions of a request. The lab is imported at its first request.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": None})
            return
        body = await read_body(receive, MOST_BYTES)
        if body is None:
            answer = TOO_LARGE
        else:
            call = call_of(scope["method"], scope["path"], scope["query_string"], scope["headers"], body)
            answer = await self._control(scope, call) if self._is_for_lab(call) else self._provide(call)
        if answer.cut:
            raise ConnectionAbortedError("A fault cuts this response off, but this server cannot cut connections.")
        if answer.delay != 0:
            await asyncio.sleep(math.inf if answer.delay is None else answer.delay)
        await send_answer(send, answer, with_body=scope["method"] != "HEAD")

    def respond(self, asked: Asked) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer a request. The answer of the lab must be awaited."""
        request = asked.request
        call = call_of(request.method.decode(), request.path, request.query, request.headers, bytes(asked.body))
        return self._control(asked.scope, call) if self._is_for_lab(call) else self._provide(call)

    def _is_for_lab(self, call: Call) -> bool:
        return self.settings.lab and f"{call.path}/".startswith(LAB)

    def _provide(self, call: Call) -> Answer:
        return self.answer(call) if len(call.body) <= BODY_BYTES else TOO_LARGE

    async def _control(self, scope: Scope, call: Call) -> Answer:
        guard, control = self._lab
        if denied := guard.denied(scope):
            return Answer(denied.status, denied.body, denied.headers)
        return await control.answer(call)

    @cached_property
    def _lab(self) -> tuple[LabRules, Control]:
        from chatkey_lab.guard import LabRules
        from chatkey_oauth.lab.api import Control

        return LabRules(token=self.settings.lab_token), Control(self)


def create_app(settings: Settings | None = None, clock: Clock | None = None) -> App:
    return App(settings or Settings(), clock or Clock())
