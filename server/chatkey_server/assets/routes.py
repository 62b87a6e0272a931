"""GET /assets/…: the widget's script and the files that it loads, for pages of any origin (contract 4.8, D-17)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from litestar import HttpMethod, Router, route
from litestar.openapi import ResponseSpec
from litestar.types import ASGIApp, Scope

from chatkey_assets import BUILT
from chatkey_protocol.codes import Code
from chatkey_server.assets.encoding import IDENTITY, choose
from chatkey_server.assets.files import File, fixed_files, hashed_files, pinned_files
from chatkey_server.assets.manifest import read_manifest
from chatkey_server.public.answers import ANY_ORIGIN, JSON, NO_STORE, PREFLIGHT, Answer, error_body
from chatkey_server.public.documentation import operation, responses
from chatkey_server.public.parameters import FILE
from chatkey_server.public.paths import READ
from chatkey_server.settings import Settings

MISSING: Final = Answer(
    error_body(Code.NOT_FOUND, "This file does not exist. If a page asks for it, the page uses an outdated sdk.js."),
    (JSON, NO_STORE, ANY_ORIGIN),
    404,
)
"""The 404 response. Every page may read it, so that the widget can tell a missing file from a network failure."""


ANY_FILE: Final = ResponseSpec(bytes, description="The file.", generate_examples=False, media_type="*/*")


def router(settings: Settings, built: Path = BUILT) -> Router:
    """Return the routes of the built files, usually of `chatkey_assets`, and of the previous release's hashed files.

    Raises `AssetsError` if a file is missing.
    """
    manifest = read_manifest(built)
    made = (built, manifest, settings)
    older = Path(settings.previous_assets) if settings.previous_assets else None
    files = hashed_files(older, read_manifest(older)) if older else {}
    files |= hashed_files(built, manifest) | fixed_files(*made) | pinned_files(*made)

    # Only paths of known files get a response, so no path can lead out of the folder.
    @route(
        "/assets/{name:path}",
        http_method=READ,
        operation_class=operation(FILE),
        responses={**responses(bytes, 304, 400, 404), 200: ANY_FILE},
    )
    async def asset(scope: Scope) -> ASGIApp:
        file = files.get(scope["path_params"]["name"].removeprefix("/"))
        return _answer(file, scope) if file else MISSING

    @route("/assets/{name:path}", http_method=HttpMethod.OPTIONS, include_in_schema=False)
    async def options(scope: Scope) -> ASGIApp:  # noqa: ARG001 - Litestar finds ASGI answers by this signature
        """Allow any header, because tools, proxies and extensions add headers to each request of a page (F240)."""
        return PREFLIGHT

    # `options` is first, because Litestar adds its own OPTIONS handler to a path that has none.
    return Router("/", route_handlers=[options, asset], include_in_schema=True)


def _answer(file: File, scope: Scope) -> Answer:
    if file.etag and file.etag in _header(scope, b"if-none-match"):
        return Answer(b"", file.headers, 304)
    encoding = choose(_header(scope, b"accept-encoding"), file.forms)
    headers = file.headers if encoding == IDENTITY else (*file.headers, (b"content-encoding", encoding.encode()))
    return Answer(file.forms[encoding].content, headers)


def _header(scope: Scope, name: bytes) -> str:
    return b",".join(value for key, value in scope["headers"] if key == name).decode("latin-1")
