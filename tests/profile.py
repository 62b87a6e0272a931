"""Checks the tests' traffic against the published schemas. Our server and widget must send no undeclared members."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from chatkey_protocol.names import CONFIG_PATH, MEMBER_TOKEN_PATH, VISITOR_TOKEN_PATH

DOCS: Final = Path(__file__).parents[1] / "docs"
ANSWERS: Final = {CONFIG_PATH: "configuration", VISITOR_TOKEN_PATH: "token-answer", MEMBER_TOKEN_PATH: "token-answer"}
TOKENS: Final = {VISITOR_TOKEN_PATH: "visitor-token", MEMBER_TOKEN_PATH: "socket-token"}
PROVIDERS: Final = CONFIG_PATH.removesuffix("{id}")


def said_by_the_server(frame: object) -> None:
    _check("frames-of-the-server", frame)


def said_by_the_widget(frame: Mapping[str, Any]) -> None:
    """Check a frame from the widget, including its proof."""
    _check("frames-of-the-widget", frame)
    if frame["type"] == "connect":
        _check("proof-header", part_of(frame["proof"], 0))
        _check("proof-claims", part_of(frame["proof"], 1))


def answered(path: str, status: int, content_type: str, body: bytes) -> None:
    """Check a response of a public endpoint: its JSON, or the message that its page posts to the opener."""
    if not path.startswith("/v1/public/") or not body:
        return
    if content_type.startswith("text/html"):
        _posted(body.decode())
    elif status == 200:
        _granted(path, json.loads(body))
    else:
        _check("failure", json.loads(body))


def _posted(page: str) -> None:
    if delivery := re.search(r"const delivery = (.*);\n", page):
        message = json.loads(delivery[1])["message"]
        _check("message-to-the-opener", message)
        if "token" in message:
            _check("identity-token", part_of(message["token"], 1))


def _granted(path: str, said: Any) -> None:
    rest = path.removeprefix(PROVIDERS).partition("/")[2]
    endpoint = f"{PROVIDERS}{{id}}{rest and '/'}{rest}"
    _check(ANSWERS[endpoint], said)
    if endpoint in TOKENS:
        _check(TOKENS[endpoint], part_of(said["data"]["auth_token"], 1))


def part_of(token: str, number: int) -> Any:
    """Return a token's header (0) or payload (1) without verifying the token."""
    segment = token.split(".")[number]
    return json.loads(urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))


def fits(name: str, value: Any) -> bool:
    return bool(published(name).is_valid(value))


@cache
def published(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((DOCS / "schemas" / f"{name}.json").read_text()))


@cache
def _closed(name: str) -> Draft202012Validator:
    schema: Any = published(name).schema
    definitions = {kind: {**made, "additionalProperties": False} for kind, made in schema["$defs"].items()}
    return Draft202012Validator({**schema, "$defs": definitions})


def _check(name: str, value: object) -> None:
    _closed(name).validate(value)
