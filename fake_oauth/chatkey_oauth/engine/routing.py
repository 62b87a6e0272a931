"""From a request's method and path to the endpoint that answers it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from chatkey_oauth.engine.call import Handler
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer


class Route(NamedTuple):
    """An endpoint, and which leg of a login it is; None: of no login."""

    leg: Leg | None
    handler: Handler


Methods = dict[str, Route]


class Routes:
    """Endpoints by method and path, made from keys such as `"GET POST /path"`, where `{name}` is one segment."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        by_path: dict[str, Methods] = {}
        for key, route in routes.items():
            *methods, path = key.split(" ")
            by_path.setdefault(path, {}).update(dict.fromkeys(methods, route))
        self._exact = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._patterns = [(pattern(path), methods) for path, methods in by_path.items() if "{" in path]

    def at(self, path: str) -> Methods:
        """The endpoints at a path, by method."""
        return self._exact.get(path) or next((m for p, m in self._patterns if p.fullmatch(path)), {})

    def find(self, method: str, path: str) -> Route | None:
        """The endpoint, or one that answers 405, or None where there is nothing. HEAD is answered as GET is."""
        methods = self.at(path)
        if not methods:
            return None
        return methods.get("GET" if method == "HEAD" else method) or not_allowed(methods)


def not_allowed(methods: Methods) -> Route:
    """An endpoint that names the methods there are (RFC 9110 15.5.6)."""
    allowed = ", ".join(methods)
    return Route(None, lambda _: Answer(405, headers=(("allow", allowed),)))


def pattern(path: str) -> re.Pattern[str]:
    """A path with `{name}` segments as an expression."""
    return re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/")))
