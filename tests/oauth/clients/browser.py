"""A simulated browser for tests of client libraries."""

from __future__ import annotations

from typing import NamedTuple, Self
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx
from tests.page import Page

from chatkey_stack.patience import PATIENCE


class Callback(NamedTuple):
    method: str
    params: dict[str, str]
    address: str


class Browser:
    """A simulated browser. It keeps cookies, and it does not follow the redirect to the application's callback."""

    def __init__(self) -> None:
        self._http = httpx.Client(trust_env=False, verify=False, timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def approve(self, url: str, person: str = "rhea") -> Callback:
        return self._decide(url, account=person, decision="approve")

    def deny(self, url: str) -> Callback:
        return self._decide(url, decision="deny")

    def open(self, url: str) -> Callback:
        """Open an authorization request that the provider answers without showing a page."""
        return called_back(self._http.get(url))

    def _decide(self, url: str, **chosen: str) -> Callback:
        page = self._http.get(url)
        assert page.status_code == 200, page.text
        form = Page(page.text)
        answer = self._http.post(urljoin(url, form.action), data={**form.fields, **chosen})
        return called_back(answer)


def called_back(answer: httpx.Response) -> Callback:
    """Return the callback request that the browser would send after a redirect or after a form that submits itself."""
    if answer.status_code == 200:
        form = Page(answer.text)
        return Callback("POST", {name: value for name, (value,) in form.fields.items()}, form.action)
    assert answer.status_code == 302, answer.text
    location = answer.headers["location"]
    return Callback("GET", dict(parse_qsl(urlsplit(location).query, keep_blank_values=True)), location)
