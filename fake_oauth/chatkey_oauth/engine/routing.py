"""Finds the endpoint for the method and path of a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from chatkey_oauth.engine.call import Handler
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer


class Route(NamedTuple):
    """An endpoint, and the login step to which the endpoint belongs. The step is None for endpoints of no login."""

    leg: Leg | None
    handler: Handler


Methods = dict[str, Route]


class Routes:
    """Endpoints by method and path.

    They are created from keys such as `"GET POST /path"`, where `{name}` stands for one segment.
    """

    def __init__(self, routes: Mapping[str, Route]) -> None:
        by_path: dict[str, Methods] = {}
        for key, route in routes.items():
            *methods, path = key.split(" ")
            by_path.setdefault(path, {}).update(dict.fromkeys(methods, route))
        self._exact = {path: methods for path, methods in by_path.items() if "{" not in path}
        self._patterns = [(pattern(path), methods) for path, methods in by_path.items() if "{" in path]

    def at(self, path: str) -> Methods:
        return self._exact.get(path) or next((m for p, m in self._patterns if p.fullmatch(path)), {})

    def find(self, method: str, path: str) -> Route | None:
        """Return the endpoint for a request. HEAD is treated as GET.

        If the path exists only with other methods, return an endpoint that answers 405. If the path does not exist,
        return None.
        """
        methods = self.at(path)
        if not methods:
            return None
        return methods.get("GET" if method == "HEAD" else method) or not_allowed(methods)


def not_allowed(methods: Methods) -> Route:
    """Return an endpoint that answers 405 and lists the allowed methods (RFC 9110 15.5.6)."""
    allowed = ", ".join(methods)
    return Route(None, lambda _: Answer(405, headers=(("allow", allowed),)))


def pattern(path: str) -> re.Pattern[str]:
    """Compile a path with `{name}` segments into a regular expression."""
    return re.compile("/".join("[^/]+" if part.startswith("{") else re.escape(part) for part in path.split("/")))
