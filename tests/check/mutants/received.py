"""Records what the endpoints of the self-test receive, to compare it with what a run may send."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin, urlsplit

from tests.check.mutants.mutant_server import Answer, Handler, Request

from chatkey_check.calls.listed import listed
from chatkey_check.exchange import KEEPS_METHOD, REDIRECTS
from chatkey_check.exchange import Request as Sent
from chatkey_check.target import Target

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class Received:
    """The requests to one site. `forms` are the paths of the site's login forms."""

    forms: frozenset[str]
    posts: set[str] = field(default_factory=set[str])
    """The same paths with the prefix of the site."""
    requests: list[Sent] = field(default_factory=list[Sent])
    redirects: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Methods and addresses to which the site has redirected."""

    def by(self, prefix: str, handler: Handler) -> Handler:
        """Return a handler that records each request. `prefix` is the part of the path that it does not get."""
        self.posts.update(f"{prefix}{path}" for path in self.forms)

        async def handle(request: Request) -> Answer:
            url = f"http://{request.headers.get('host')}{prefix}{request.path}"
            origin = request.headers.get("origin")
            headers = (("Origin", origin),) if origin else ()
            self.requests.append(Sent("", request.method, url, headers, request.body))
            answer = await handler(replace(request))
            if answer.status in REDIRECTS:
                methods = {"GET"} | ({request.method} if answer.status in KEEPS_METHOD else set[str]())
                with suppress(ValueError):  # the location is no address
                    onward = urljoin(url, next((value for name, value in answer.headers if name == "Location"), ""))
                    self.redirects.update((method, onward.partition("?")[0]) for method in methods)
            return answer

        return handle

    def strays(self, target: Target) -> Iterable[str]:
        """Return the requests that are not on the list, and those that could change something."""
        lines = listed(target)
        paths = {urlsplit(url).path for url in (target.url, target.logout_url, *self.posts) if url}
        return [
            f"{sent.method} {sent.url}"
            for sent in self.requests
            if not (
                (sent.method, sent.url) in self.redirects
                or (
                    any(line.allows(sent) for line in lines)
                    and (sent.method in SAFE or urlsplit(sent.url).path in paths)
                )
            )
        ]
