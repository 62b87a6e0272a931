"""A person whose browser keeps cookies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import httpx
from tests.page import Page

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient


ORIGIN = "https://shop.example"
BROWSERS, SERVERS = "https://idp.localhost:9443", "http://idp.internal:9911"


class Person:
    """A person whose browser keeps the fake's cookies. A test can stop a login after any step."""

    def __init__(self, server: ServerClient, browser: httpx.AsyncClient) -> None:
        self._server = server
        self._browser = browser

    async def ask(self, social: str, provider: str = "shop") -> httpx.Response:
        path = f"/v1/public/provider/{provider}/oauth/{social}"
        start = await self._server.get(path, params={"origin": ORIGIN, "nonce": "n-1"})
        assert start.status_code == 302, start.text
        return await self._browser.get(start.headers["location"])

    async def decide(
        self, page: httpx.Response, decision: str = "approve", changes: Mapping[str, list[str]] | None = None
    ) -> httpx.Response:
        """Submit the consent page, with `changes` to its fields. Returns the fake's response."""
        assert page.status_code == 200, page.text
        form = Page(page.text)
        fields = form.fields | {"decision": [decision]} | dict(changes or {})
        return await self._browser.post(urljoin(str(page.url), form.action), data=fields)

    async def arrive(self, answer: httpx.Response) -> httpx.Response:
        if "location" in answer.headers:
            return await self._server.get(answer.headers["location"])
        form = Page(answer.text)
        headers = {"Origin": BROWSERS, "Sec-Fetch-Site": "cross-site"}
        return await self._server.post(form.action, data=form.fields, headers=headers)

    async def log_in(self, social: str, provider: str = "shop", decision: str = "approve") -> httpx.Response:
        answer = await self.ask(social, provider)
        if 'name="decision"' in answer.text:
            answer = await self.decide(answer, decision)
        return await self.arrive(answer)

    def forget(self) -> None:
        """Delete the fake's cookies. The fake shows no consent page to a person whom it recognises."""
        self._browser.cookies.clear()
