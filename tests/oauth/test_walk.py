"""Tests that send hostile input to every route of the fake provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pytest
from tests.hostile.routes.asgi import Headers
from tests.hostile.routes.tables import Door, fake_doors, lab_doors
from tests.hostile.routes.walk import Walk
from tests.oauth.visitor import Visitor

from chatkey_oauth.by_host import called, every_name
from chatkey_oauth.faults.rules import Order
from chatkey_oauth.lab.api import Control
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from chatkey_oauth.app import App

PARAMETERS: Final = (
    *("client_id", "client_key", "client_secret", "redirect_uri", "response_type", "response_mode", "scope", "state"),
    *("nonce", "code", "code_verifier", "code_challenge", "code_challenge_method", "grant_type", "refresh_token"),
    *("token", "access_token", "fields", "prompt", "login_hint", "account", "decision", "offered", "share", "max_age"),
    *("picture", "flow"),
)
"""Parameters that at least one provider reads from a query or a form."""
HONEST: Final = {"client_id": "ours", "redirect_uri": "https://chat.example/callback", "response_type": "code"}
PATH: Final = {
    "client_id": "ours",
    "person": "rhea",
    "tenant": "common",
    "user": "me",
    "name": "google",
    "provider": "google",
    "key": "google",
    "id": "rhea",
    "person_id": "rhea",
}


@pytest.fixture(params=[200, pytest.param(5000, marks=pytest.mark.long)], ids=["some of it", "more of it"])
def most(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def doors(fake: App, name: str) -> Iterator[Door]:
    for door in fake_doors(fake, name):
        yield door._replace(members=PARAMETERS, query=PARAMETERS)


@pytest.mark.parametrize("has_lab", [True, False], ids=["lab on", "lab off"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_provider(make_fake: Callable[..., App], name: str, has_lab: bool, most: int) -> None:
    fake = make_fake(lab=has_lab)
    walk = Walk(fake, PATH, HONEST, most=most)

    wrong = await walk.past(doors(fake, name))

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == set()


@pytest.mark.parametrize("host", list(every_name()))
async def test_a_provider_by_a_host_of_its_own(fake: App, host: str) -> None:
    async def at_host(_: Door) -> Headers:
        return ((b"host", host.encode()),)

    at = called(host)
    assert at is not None
    walk = Walk(fake, PATH, HONEST, headed=at_host, most=10)

    wrong = await walk.past(
        door._replace(path=door.path.removeprefix(f"/{at.provider}")) for door in doors(fake, at.provider)
    )

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == set()


async def test_the_lab(fake: App, google: Visitor) -> None:
    google.ask()
    known = {"flow_id": fake.flows.all()[0].id, "rule_id": fake.faults.arm(Order(fault="slow")).id}
    walk = Walk(fake, PATH | known)

    wrong = await walk.past(lab_doors(Control(fake)))

    assert not wrong, "\n".join(wrong[:20])
    assert walk.unreached() == set()
