"""The lab's endpoints for the overview, the clock and the reset."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer, text_answer
from chatkey_oauth.engine.text import clean
from chatkey_oauth.lab import pages
from chatkey_oauth.lab.clients_and_people import without_secret
from chatkey_oauth.lab.endpoints import Endpoint, get, post
from chatkey_oauth.lab.flows import sessions_of
from chatkey_oauth.lab.lab_wire import Advance, Data, Overview, Place, SwitchShown, Time
from chatkey_oauth.providers import NAMES
from chatkey_oauth.seed import exported

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def world_handlers(fake: Fake) -> list[Endpoint]:
    """Return the endpoints for the overview, the clock and the reset."""

    @get("", "An overview of everything; a page if a browser asks")
    def overview(call: Call) -> Overview | Answer:
        found = overview_of(fake)
        if not pages.is_wanted(call):
            return json_answer(Data(found), headers=(pages.VARY,))
        scheme = urlsplit(fake.settings.listens_at).scheme
        address = f"{scheme}://{clean(call.headers.get('host', ''))}/lab"
        lists = pages.Lists(
            fake.flows.all(), fake.log.find(), fake.world.people.all(), sessions_of(fake), fake.outbox.all()
        )
        page = pages.lab_page(found, lists, address, fake.world.clients.all())
        return replace(page, headers=(*page.headers, pages.VARY))

    @get("/clock", "The fake's time")
    def clock() -> Time:
        return Time(fake.clock())

    @post("/clock", "Move the fake's time")
    def advance(data: Advance) -> Time:
        return Time(fake.clock.advance(data.advance))

    @post("/reset", "Return to the initial state")
    def reset() -> Time:
        fake.reset()
        return Time(fake.clock())

    @get("/seed", "The state as a seed file, with the secrets of the applications")
    def seed() -> Answer:
        plain = text_answer(exported(fake))
        return replace(plain, headers=(*plain.headers, *NO_STORE))

    return [overview, clock, advance, reset, seed]


def overview_of(fake: Fake) -> Overview:
    return Overview(
        now=fake.clock(),
        providers={name: Place(*fake.addresses(name)) for name in NAMES},
        clients=[without_secret(client) for client in fake.world.clients.all()],
        people=len(fake.world.people.all()),
        flows=len(fake.flows.all()),
        requests=fake.log.last,
        auto_approve=fake.world.approval.account,
        rules=fake.faults.rules(),
        faults=fake.faults.catalogue(),
        switches=[SwitchShown(*position) for position in fake.world.switches.all()],
    )
