"""Sends hostile input to every route of the demo's hub. No request may cause an error or a traceback in the log."""

from typing import Any

from tests.demo.test_hub_page import demo
from tests.hostile.routes.tables import litestar_doors
from tests.hostile.routes.walk import Walk

from chatkey_demo.hub.app import create_app
from chatkey_demo.hub.curtain import Curtain


async def test_the_hub() -> None:
    app: Any = create_app(Curtain(demo()))
    walk = Walk(app, {"name": "hub.css"})

    wrong = await walk.past(litestar_doors(app))

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == set()
