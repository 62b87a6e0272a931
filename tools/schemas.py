"""Makes docs/schemas/: JSON Schemas (2020-12) of the profile, from its declarations and the server's response types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, get_args

import msgspec
from tools import parts

from chatkey_protocol import frames, tokens
from chatkey_protocol.frames import WidgetFrame
from chatkey_server.peers.declarations import strict
from chatkey_server.public.answers import ErrorBody, TokenBody
from chatkey_server.public.documentation import ConfigurationBody

Json: TypeAlias = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
PLACE: Final = "#/$defs/{name}"
FROM_WIDGET: Final = get_args(WidgetFrame)

KINDS: Final[Mapping[str, tuple[str, Iterable[Any]]]] = {
    "frames-of-the-widget": ("Every frame that a widget sends", FROM_WIDGET),
    "frames-of-the-server": (
        "Every frame that the server sends",
        [frame for frame in parts.frame_types() if frame not in FROM_WIDGET],
    ),
    "configuration": ("The answer of the configuration endpoint", [ConfigurationBody]),
    "token-answer": ("The answer of both token endpoints", [TokenBody]),
    "failure": ("The answer of a public endpoint that refuses", [ErrorBody]),
    "visitor-token": ("The claims of a visitor's socket token", [tokens.VisitorToken]),
    "socket-token": ("The claims of a member's socket token", [tokens.SocketToken]),
    "identity-token": ("The claims of a social login's identity token", [tokens.IdentityToken]),
    "proof-header": ("The header of a connection proof", [tokens.ProofHeader]),
    "proof-claims": ("The claims of a connection proof", [tokens.ProofClaims]),
    "message-to-the-opener": ("What the popup posts to the page that opened it", [frames.OAuthMessage]),
}
"""For each schema its title and its declarations, one of which must match."""


def schemas() -> Iterable[tuple[str, str]]:
    """Yield the file name and text of every schema."""
    for name in KINDS:
        yield f"{name}.json", json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def schema(name: str) -> Json:
    """Return one schema. The schema allows undeclared members, because readers ignore such members."""
    title, declared = KINDS[name]
    references, definitions = msgspec.json.schema_components(list(map(strict, declared)), ref_template=PLACE)
    _describe(declared, definitions)
    if name == "message-to-the-opener":
        definitions["OAuthMessage"]["oneOf"] = [{"required": ["token"]}, {"required": ["error"]}]
    chosen = references[0] if len(references) == 1 else {"oneOf": list(references)}
    made = {"$schema": DIALECT, "title": title, **chosen, "$defs": definitions}
    # JSON Schema uses the patterns of ECMA 262, in which `$` matches only at the end of the text.
    readable: Json = json.loads(json.dumps(made).replace("\\\\Z", "$"))
    return readable


def _describe(declared: Iterable[Any], definitions: Json) -> None:
    for kind in declared:
        if kind.__module__ in {frames.__name__, tokens.__name__}:
            definitions[kind.__name__]["description"] = " ".join((kind.__doc__ or "").split())
