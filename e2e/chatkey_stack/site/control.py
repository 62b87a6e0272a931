"""The control API for harness and demo: the shops, and the clock for the tokens of the shops."""

import msgspec
from litestar import Router, delete, get, post
from litestar.exceptions import ClientException, NotFoundException
from litestar.params import FromPath, JSONBody

from chatkey_stack.site.shops import Page, Shop, Shops

Data = dict[str, dict[str, object]]


class NewShop(msgspec.Struct, forbid_unknown_fields=True):
    slug: str
    provider_id: str
    secret_key: str
    title: str = "Alder & Loam"
    get_token: bool = True
    tail: str = ""
    spy: str | None = None


class NewPage(msgspec.Struct, forbid_unknown_fields=True):
    """A page that a test adds to a shop."""

    name: str
    html: str
    headers: dict[str, str] = {}


class Advance(msgspec.Struct, forbid_unknown_fields=True):
    """The number of seconds by which to move the clock."""

    advance: float


def control(shops: Shops) -> Router:
    """Return the routes under `/lab`. Responses are wrapped in `data` and contain no secrets."""

    @post("/shops", sync_to_thread=False)
    def add(data: JSONBody[NewShop]) -> Data:
        try:
            shop = shops.add(**msgspec.structs.asdict(data))
        except ValueError as error:
            raise ClientException(str(error)) from error
        return {"data": _shown(shop)}

    def found(slug: str) -> Shop:
        shop = shops.get(slug)
        if shop is None:
            raise NotFoundException(f"no shop {slug!r}")
        return shop

    @get("/shops/{slug:str}", sync_to_thread=False)
    def show(slug: FromPath[str]) -> Data:
        return {"data": _shown(found(slug))}

    @post("/shops/{slug:str}/pages", sync_to_thread=False)
    def add_page(slug: FromPath[str], data: JSONBody[NewPage]) -> Data:
        try:
            found(slug).pages[data.name] = Page(data.html, data.headers)
        except ValueError as error:
            raise ClientException(str(error)) from error
        return {"data": {"path": f"/{slug}/{data.name}"}}

    @delete("/shops/{slug:str}", sync_to_thread=False)
    def remove(slug: FromPath[str]) -> None:
        shops.remove(slug)

    @post("/clock", status_code=200, sync_to_thread=False)
    def clock(data: JSONBody[Advance]) -> Data:
        shops.offset += data.advance
        return {"data": {"now": shops.now()}}

    @post("/reset", status_code=200, sync_to_thread=False)
    def reset() -> Data:
        shops.offset = 0.0
        return {"data": {"now": shops.now()}}

    return Router("/lab", route_handlers=[add, show, add_page, remove, clock, reset])


def _shown(shop: Shop) -> dict[str, object]:
    return {"slug": shop.slug, "provider_id": shop.provider_id, "token_calls": shop.token_calls}
