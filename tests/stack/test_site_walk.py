"""Sends hostile input to every route of the site. No request may cause a server error or a traceback in the log."""

import json
from typing import Any, Final

import pytest
from tests.hostile.routes.asgi import Call, Headers, ask
from tests.hostile.routes.tables import Door, litestar_doors
from tests.hostile.routes.walk import Walk

from chatkey_stack.site.app import Addresses, create_app

SITE: Final = Addresses("http://localhost:7001", "http://localhost:7002", "http://localhost:7002/assets/sdk.js")
JSON: Final = (b"content-type", b"application/json")
FORM: Final = (b"content-type", b"application/x-www-form-urlencoded")
SHOP: Final = {"slug": "alder", "provider_id": "prov", "secret_key": "a-secret-key-of-at-least-32-bytes-0123"}
PATH: Final = {"slug": "alder", "/{slug:str}/{name:str} name": "own", "/people/{name:str} name": "u-1001.svg"}
MEMBERS: Final = {**SHOP, "person": "u-1001", "jkt": "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", "advance": 0}


@pytest.mark.parametrize("signs_in", [False, True], ids=["a stranger", "somebody signed in"])
async def test_the_site(signs_in: bool) -> None:
    app: Any = create_app(SITE)

    async def headed(_: Door) -> Headers:
        for path, body in (("/lab/shops", SHOP), ("/lab/shops/alder/pages", {"name": "own", "html": ""})):
            assert (await ask(app, Call("POST", path.encode(), (JSON,), json.dumps(body).encode()))).status == 201
        if not signs_in:
            return ()
        answer = await ask(app, Call("POST", b"/alder/login", (FORM,), b"person=u-1001"))
        return tuple((b"cookie", value.partition(b";")[0]) for name, value in answer.headers if name == b"set-cookie")

    walk = Walk(app, {**PATH, "name": "shop.js"}, MEMBERS, headed)

    wrong = await walk.past(
        door._replace(members=(*door.members, "jkt")) if door.path.endswith("/token") else door
        for door in litestar_doors(app)
    )

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == set()
