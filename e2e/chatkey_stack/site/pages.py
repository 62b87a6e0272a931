"""The pages of the shops, the sign-in, and the endpoint for the page's `getToken`."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from jinja2 import Environment, FileSystemLoader
from litestar import MediaType, Request, Response, get, post
from litestar.datastructures import Cookie, State
from litestar.exceptions import ClientException, NotFoundException, SerializationException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Redirect

from chatkey_stack.site.people import avatar
from chatkey_stack.site.shops import Shop, Shops
from chatkey_stack.site.token_backend import InvalidRequestError, Person

HERE = Path(__file__).parent
TEMPLATES = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True)
STATIC = {
    "shop.css": "text/css",
    "shop.js": "text/javascript",
    "spy.js": "text/javascript",
    "cache-first-worker.js": "text/javascript",
    "worker.js": "text/javascript",
}
Http = Request[None, None, State]
Csp = Literal["off", "strict", "strict-dynamic", "without-wasm"]
ConfigPlace = Literal["before", "after"]


class SignIn(msgspec.Struct):
    person: str


def pages(
    shops: Shops, everybody: Mapping[str, Person], site_url: str, service_url: str, sdk_url: str
) -> list[HTTPRouteHandler]:
    """Return the routes of all shops, and the routes that the shops share."""
    return [
        _shop_page(shops, everybody, service_url, sdk_url),
        _own_page(shops),
        *_signing(shops, everybody, secure=site_url.startswith("https:")),
        _token(shops),
        *_shared(shops, everybody),
    ]


def _found(shops: Shops, slug: str) -> Shop:
    shop = shops.get(slug)
    if shop is None:
        raise NotFoundException(f"There is no shop {slug!r}.")
    return shop


def _shop_page(shops: Shops, everybody: Mapping[str, Person], service_url: str, sdk_url: str) -> HTTPRouteHandler:
    @get("/{slug:str}/", media_type=MediaType.HTML, sync_to_thread=False)
    def shop_page(
        request: Http,
        slug: FromPath[str],
        csp: FromQuery[Csp] = "off",
        config: FromQuery[ConfigPlace] = "before",
    ) -> Response[str]:
        shop = _found(shops, slug)
        nonce = secrets.token_urlsafe(16)
        page = TEMPLATES.get_template("shop.html").render(
            shop=shop,
            person=shop.who(request.cookies.get(shop.cookie)),
            people=everybody.values(),
            nonce=nonce,
            sdk_url=sdk_url,
            config_first=config == "before",
        )
        headers = {"Cache-Control": "private, no-cache", "Referrer-Policy": "strict-origin-when-cross-origin"}
        if csp != "off":
            headers["Content-Security-Policy"] = _policy(csp, nonce, service_url, sdk_url)
        return Response(page, headers=headers)

    return shop_page


def _own_page(shops: Shops) -> HTTPRouteHandler:
    @get("/{slug:str}/{name:str}", media_type=MediaType.HTML, sync_to_thread=False)
    def own_page(slug: FromPath[str], name: FromPath[str]) -> Response[str]:
        page = _found(shops, slug).pages.get(name)
        if page is None:
            raise NotFoundException(f"The shop {slug!r} has no page {name!r}.")
        others = {key: value for key, value in page.headers.items() if key.lower() != "content-type"}
        types = [value for key, value in page.headers.items() if key.lower() == "content-type"]
        return Response(page.html, headers=others, media_type=types[0] if types else MediaType.HTML)

    return own_page


def _signing(shops: Shops, everybody: Mapping[str, Person], *, secure: bool) -> list[HTTPRouteHandler]:
    @post("/{slug:str}/login", sync_to_thread=False)
    def login(slug: FromPath[str], data: URLEncodedBody[SignIn]) -> Redirect:
        shop = _found(shops, slug)
        person = everybody.get(data.person)
        if person is None:
            raise ClientException(f"There is nobody called {data.person!r} here.")
        cookie = Cookie(
            key=shop.cookie,
            value=shop.sign_in(person),
            path=f"/{slug}/",
            httponly=True,
            secure=secure,
            samesite="lax",
        )
        return Redirect(f"/{slug}/", status_code=303, cookies=[cookie])

    @post("/{slug:str}/logout", sync_to_thread=False)
    def logout(request: Http, slug: FromPath[str]) -> Redirect:
        shop = _found(shops, slug)
        shop.sign_out(request.cookies.get(shop.cookie))
        gone = Cookie(key=shop.cookie, value="", path=f"/{slug}/", max_age=0, httponly=True, secure=secure)
        return Redirect(f"/{slug}/", status_code=303, cookies=[gone])

    return [login, logout]


def _token(shops: Shops) -> HTTPRouteHandler:
    @post("/{slug:str}/chat/token", status_code=200)
    async def token(request: Http, slug: FromPath[str]) -> Response[dict[str, str | None]]:
        shop = _found(shops, slug)
        shop.token_calls += 1
        try:
            answer = shop.backend.answer(await request.json(), shop.who(request.cookies.get(shop.cookie)))
        except (InvalidRequestError, SerializationException) as error:
            raise ClientException(str(error)) from error
        return Response(answer, headers={"Cache-Control": "no-store"})

    return token


def _shared(shops: Shops, everybody: Mapping[str, Person]) -> list[HTTPRouteHandler]:
    static = {name: (HERE / "static" / name).read_bytes() for name in STATIC}

    @get("/", media_type=MediaType.HTML, sync_to_thread=False)
    def front() -> str:
        return TEMPLATES.get_template("front.html").render(shops=shops.all())

    @get("/people/{name:str}", media_type="image/svg+xml", sync_to_thread=False)
    def portrait(name: FromPath[str]) -> str:
        person = everybody.get(name.removesuffix(".svg"))
        if person is None:
            raise NotFoundException(f"There is nobody called {name!r} here.")
        return avatar(person)

    @get("/static/{name:str}", sync_to_thread=False)
    def file(name: FromPath[str]) -> Response[bytes]:
        if name not in static:
            raise NotFoundException(f"There is no file {name!r} here.")
        return Response(static[name], media_type=STATIC[name], headers={"Service-Worker-Allowed": "/"})

    return [front, portrait, file]


def snippet(provider_id: str, sdk_url: str, *, get_token: bool) -> str:
    """Return the HTML that an integrator adds to a page. The shops' own pages use the same HTML."""
    parts: Any = TEMPLATES.get_template("snippet.html").module
    return f"{parts.config(provider_id, get_token)}\n{parts.sdk(sdk_url)}"


def _policy(csp: Csp, nonce: str, service_url: str, sdk_url: str) -> str:
    """Return the strictest Content-Security-Policy that the widget supports. `without-wasm` is stricter."""
    assets = sdk_url.removesuffix("/sdk.js")
    socket = service_url.replace("http", "ws", 1)
    scripts = {
        "strict": f"'self' 'nonce-{nonce}' 'wasm-unsafe-eval' {assets}/",
        "strict-dynamic": f"'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval'; "
        "require-trusted-types-for 'script'; worker-src 'none'; frame-src 'none'",
        "without-wasm": f"'self' 'nonce-{nonce}' {assets}/",
    }
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {scripts[csp]}",
            f"connect-src 'self' {service_url} {socket} {assets}/",
            f"style-src 'self' {assets}/",
            "img-src 'self' data:",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )
