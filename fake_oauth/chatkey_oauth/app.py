"""The fake as an ASGI application. It combines the providers with the lab, which is the control API for tests."""

from __future__ import annotations

import asyncio
import math
from functools import cached_property
from typing import Final

from chatkey_lab.guard import LabGuard
from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.asgi import Asgi, Receive, Scope, Send, call_of, live, read_body, send_answer
from chatkey_oauth.engine.http import text_answer
from chatkey_oauth.fake import Fake
from chatkey_oauth.settings import Settings

LAB: Final = "/lab/"
BODY_BYTES: Final = 64 * 1024


class App(Fake):
    """A fake with its lab. If the lab is on, the control API is under `/lab`.

    `Connection` serves an app. An app is also an ASGI application, so that a test can use it without a socket.

    The providers and the lab are plain functions of a request. The lab is imported at its first request.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000, "reason": None})
        elif self.is_for_lab(scope["path"]):
            await self.control(scope, receive, send)
        else:
            await self._serve(scope, receive, send)

    def is_for_lab(self, path: str) -> bool:
        return self.settings.lab and f"{path}/".startswith(LAB)

    @cached_property
    def control(self) -> Asgi:
        from chatkey_oauth.lab.api import Control

        return LabGuard(Control(self), token=self.settings.lab_token)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive, BODY_BYTES)
        call = call_of(scope, body or b"")
        answer = text_answer("The body is too large.", 413) if body is None else self.answer(call)
        if answer.cut:
            raise ConnectionAbortedError("A fault cuts this response off, but this server cannot cut connections.")
        if answer.delay != 0:
            await asyncio.sleep(math.inf if answer.delay is None else answer.delay)
        await send_answer(send, answer, with_body=call.method != "HEAD")


def create_app(settings: Settings | None = None, clock: Clock | None = None) -> App:
    return App(settings or Settings(), clock or Clock())
