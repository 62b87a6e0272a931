"""A sample adapter of grade `command` for a service with a lab. Implementers may write adapters in any language."""

from __future__ import annotations

import json
import os
import sys
from typing import Any
from urllib.request import Request, urlopen

LAB = os.environ["ADAPTER_LAB"]


def ask(method: str, path: str, body: object = None) -> Any:
    """Send a request to the lab, and return the `data` of the response."""
    content = None if body is None else json.dumps(body).encode()
    with urlopen(Request(LAB + path, content, {"Content-Type": "application/json"}, method=method)) as answer:
        return json.load(answer)["data"]


def main(verb: str, given: dict[str, Any]) -> Any:
    business = given.pop("id", None)
    asked: dict[str, tuple[str, str, object]] = {
        "provision": ("POST", "/providers", given),
        "change": ("PATCH", f"/providers/{business}", given),
        "remove": ("DELETE", f"/providers/{business}", None),
        "advance": ("POST", "/clock", {"advance": given.get("seconds", 0)}),
        "reset": ("POST", "/reset", None),
        "member": ("GET", f"/members?provider={business}", None),
        "agent": ("POST", "/agent", {**given, "id": business}),
    }
    return ask("GET", "")["capabilities"] if verb == "capabilities" else ask(*asked[verb])


if __name__ == "__main__":
    try:
        told = {"data": main(sys.argv[1], json.load(sys.stdin))}
    except (OSError, ValueError, KeyError) as error:
        told = {"error": {"message": str(error)}}
    sys.stdout.write(json.dumps(told))
