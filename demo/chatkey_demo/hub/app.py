"""The hub as a Litestar application: one page, its files, and a route that reports whether all servers are up."""

from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Litestar, MediaType, Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from chatkey_demo.hub.curtain import Curtain
from chatkey_demo.hub.modes import backend

HERE = Path(__file__).parent
PAGES = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, undefined=StrictUndefined)
TYPES = {".css": "text/css", ".js": "text/javascript"}
NO_CONTENT, OK = 204, 200


def create_app(curtain: Curtain) -> Litestar:
    """Build the hub. While `curtain.demo` is None, the page says that the demo is starting."""
    files = {path.name: path.read_bytes() for path in (HERE / "static").iterdir() if path.suffix in TYPES}

    @get("/", sync_to_thread=False)
    def page() -> Response[str]:
        demo = curtain.demo
        if demo is None:
            return _page("starting.html", framed=())
        shown = [mode.shown() for mode in demo.modes]
        made = _page("hub.html", framed=demo.framed, demo=demo, modes=shown, backend=backend())
        made.headers["Set-Cookie"] = demo.agent_session
        return made

    @get("/ready", sync_to_thread=False)
    def ready() -> Response[None]:
        return Response(None, status_code=OK if curtain.demo else NO_CONTENT, headers={"Cache-Control": "no-store"})

    @get("/static/{name:str}", sync_to_thread=False)
    def file(name: FromPath[str]) -> Response[bytes]:
        if name not in files:
            raise NotFoundException(f"There is no file {name!r} here.")
        headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        return Response(files[name], media_type=TYPES[Path(name).suffix], headers=headers)

    return Litestar([page, ready, file], openapi_config=None, logging_config=None)


def _page(name: str, *, framed: Sequence[str], **values: object) -> Response[str]:
    headers = {
        "Content-Security-Policy": _policy(framed),
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(PAGES.get_template(name).render(**values), media_type=MediaType.HTML, headers=headers)


def _policy(framed: Sequence[str]) -> str:
    frames = " ".join(framed) or "'none'"
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src data:",
            f"frame-src {frames}",
            "form-action 'none'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
