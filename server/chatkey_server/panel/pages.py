"""Renders the panel's pages, with a content security policy that allows only the panel's own files."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import MediaType, Response

if TYPE_CHECKING:
    from chatkey_server.settings import Settings

_PAGES: Final = Environment(
    loader=PackageLoader("chatkey_server.panel", "pages"), autoescape=True, undefined=StrictUndefined
)
_STATIC: Final = files("chatkey_server.panel") / "static"


def page(name: str, settings: Settings, *, status_code: int = 200, **values: object) -> Response[str]:
    """Render a page. `values` are escaped as text."""
    return Response(
        _PAGES.get_template(name).render(**values),
        media_type=MediaType.HTML,
        status_code=status_code,
        headers={
            "Content-Security-Policy": _policy(settings),
            "Cache-Control": "no-store",
            # Under no-referrer, the Origin of a form's POST would be "null".
            "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        },
    )


def static(name: str, media_type: str) -> Response[bytes]:
    return Response(
        (_STATIC / name).read_bytes(),
        media_type=media_type,
        headers={"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"},
    )


def _policy(settings: Settings) -> str:
    socket = settings.base_url.replace("http", "ws", 1)
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            f"connect-src 'self' {socket}",
            "form-action 'self'",
            "base-uri 'none'",
            f"frame-ancestors {settings.panel_frame_ancestors}",
        )
    )
