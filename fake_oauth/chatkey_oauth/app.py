"""The fake as an application. It combines the providers with the lab, which is the control API for tests."""

from __future__ import annotations

import asyncio
import math
from functools import cached_property
from inspect import isawaitable
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
    from chatkey_oauth.lab.api import Control

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
        answer = text_answer("The body is too large.", 413) if body is None else self.respond(scope, body)
        if isawaitable(answer):
            answer = await answer
        if answer.cut:
            raise ConnectionAbortedError("A fault cuts this response off, but this server cannot cut connections.")
        if answer.delay != 0:
            await asyncio.sleep(math.inf if answer.delay is None else answer.delay)
        await send_answer(send, answer, with_body=scope["method"] != "HEAD")

    def respond(self, scope: Scope, body: bytes) -> Answer | Coroutine[Any, Any, Answer]:
        """Answer a request. The answer of the lab must be awaited."""
        if self.settings.lab and f"{scope['path']}/".startswith(LAB):
            return self._control(scope, body)
        if len(body) > BODY_BYTES:
            return text_answer("The body is too large.", 413)
        return self.answer(call_of(scope, body))

    async def _control(self, scope: Scope, body: bytes) -> Answer:
        guard, control = self._lab
        if denied := guard.denied(scope):
            return Answer(denied.status, denied.body, denied.headers)
        return await control.answer(call_of(scope, body))

    @cached_property
    def _lab(self) -> tuple[LabRules, Control]:
        from chatkey_lab.guard import LabRules
        from chatkey_oauth.lab.api import Control

        return LabRules(token=self.settings.lab_token), Control(self)


def create_app(settings: Settings | None = None, clock: Clock | None = None) -> App:
    return App(settings or Settings(), clock or Clock())
