"""The fake as its users run it: a process of its own with its ready-made applications, and a person with a browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx
import pytest

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.ready_made import READY_MADE
from chatkey_stack.patience import PATIENCE

RUN = "from chatkey_oauth.cli import fake_oauth; fake_oauth()"
CALLBACK = "http://127.0.0.1:4999/callback"


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the fake is; every provider lies below, under its name."""
    command = [sys.executable, "-c", RUN, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("ready http"), line + (process.stderr.read() if process.stderr else "")
            yield line.removeprefix("ready ").strip()
        finally:
            process.terminate()


@pytest.fixture
def lab(address: str) -> Iterator[httpx.Client]:
    """The fake's control API, with nothing left over from tests before."""
    with httpx.Client(base_url=f"{address}/lab", trust_env=False, verify=False, timeout=PATIENCE) as client:
        client.post("/reset").raise_for_status()
        yield client


@pytest.fixture
def traffic(lab: httpx.Client) -> Callable[[str], list[dict[str, Any]]]:
    """What a provider was asked at paths with this ending since the test began."""
    before = lab.get("/requests").json()["data"]["last"]

    def asked(provider: str, ending: str = "") -> list[dict[str, Any]]:
        found = lab.get("/requests", params={"after": before, "provider": provider}).json()["data"]["requests"]
        return [entry for entry in found if entry["path"].rstrip("/").endswith(ending)]

    return asked


@pytest.fixture
def application() -> Callable[[str], Client]:
    """The ready-made application at a provider."""
    by_provider = {client.provider: client for client in READY_MADE}
    return by_provider.__getitem__


@pytest.fixture
def callback() -> str:
    """Where the application is called back."""
    return CALLBACK


class Callback(NamedTuple):
    """A request to the application's callback."""

    method: str
    params: dict[str, str]
    address: str


class Form(HTMLParser):
    """The form of a page, as a browser would send it with nothing changed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where the form goes, and each of its inputs that has a value to send."""
        of = dict(attrs)
        if tag == "form":
            self.action = of.get("action") or ""
        if tag == "input" and of.get("name") and (of.get("type") == "hidden" or "checked" in of):
            self.fields.append((of["name"] or "", of.get("value") or ""))


class Browser:
    """A person's browser. It keeps cookies, and stops at the application's callback."""

    def __init__(self) -> None:
        self._http = httpx.Client(trust_env=False, verify=False, timeout=PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def approve(self, url: str, person: str = "rhea") -> Callback:
        """Open the authorization request, choose an account and continue."""
        return self._decide(url, account=person, decision="approve")

    def deny(self, url: str) -> Callback:
        """Open the authorization request and cancel."""
        return self._decide(url, decision="deny")

    def open(self, url: str) -> Callback:
        """Open an authorization request that is answered without a page."""
        return called_back(self._http.get(url))

    def _decide(self, url: str, **chosen: str) -> Callback:
        page = self._http.get(url)
        assert page.status_code == 200, page.text
        form = Form(page.text)
        fields = [(name, value) for name, value in form.fields if name not in chosen]
        answer = self._http.post(urljoin(url, form.action), data=group([*fields, *chosen.items()]))
        return called_back(answer)


def group(fields: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Fields with repetitions, in the shape httpx sends."""
    grouped: dict[str, list[str]] = {}
    for name, value in fields:
        grouped.setdefault(name, []).append(value)
    return grouped


def called_back(answer: httpx.Response) -> Callback:
    """The callback that a redirect or a form that sends itself leads to."""
    if answer.status_code == 200:
        form = Form(answer.text)
        return Callback("POST", dict(form.fields), form.action)
    assert answer.status_code == 302, answer.text
    location = answer.headers["location"]
    return Callback("GET", dict(parse_qsl(urlsplit(location).query, keep_blank_values=True)), location)


@pytest.fixture
def browser() -> Iterator[Browser]:
    """A browser nobody has used."""
    with Browser() as one:
        yield one
