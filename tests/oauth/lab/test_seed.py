"""Tests of the seed file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner
from tests.oauth.lab.answers import data
from tests.oauth.test_serving import running
from tests.oauth.visitor import Visitor

from chatkey_oauth.cli import fake_oauth
from chatkey_oauth.engine.people import SEEDED, Person
from chatkey_oauth.faults.rules import Order, Scope
from chatkey_oauth.seed import EXAMPLE, NAME, Seed, read_seed
from chatkey_oauth.settings import SettingsError
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from chatkey_oauth.app import App

Read = Callable[[str], Seed]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str) -> Seed:
        path = tmp_path / NAME
        path.write_text(text, encoding="utf-8")
        return read_seed(path)

    return read


def test_the_example_is_valid(read: Read) -> None:
    seed = read(EXAMPLE)
    everything = read(
        "\n".join(
            line.removeprefix("# ")
            for line in EXAMPLE.splitlines()[3:]
            if "Claims at" not in line and "Lifetimes at" not in line and "Faults are" not in line
        )
    )

    assert [client.client_id for client in seed.applications or ()] == ["my-app"]
    assert seed.people[0].claims == {"groups": ["staff"]}
    assert (everything.auto_approve, everything.faults[0].fault) == ("rhea", "status-500")


async def test_the_lab_exports_what_a_fake_can_be_started_with(
    lab: httpx.AsyncClient, fake: App, oidc: Visitor, read: Read
) -> None:
    odd = Person(id="odd", name='"\\\n\x7f\u2028ü', claims={"a b": [1, {"c": None, "d": True}], "e": "f"})
    fake.world.people.put(odd)
    fake.world.switches.set("x.rate-limit", on=True)
    fake.world.approval.account = "omar"
    fake.faults.arm(Order(fault="slow", scope=Scope(provider="oidc"), times=3, with_={"leg": "token", "seconds": 0.5}))
    fake.faults.arm(Order(fault="deny"))
    oidc.decide()

    seed = read((await lab.get("/lab/seed")).text)

    assert seed.applications == tuple(fake.world.clients.all())
    (person,) = seed.people
    assert person == Person(id="odd", name=odd.name, claims={"a b": [1, {"d": True}], "e": "f"})
    assert (seed.switches, seed.auto_approve) == ({"x.rate-limit": True}, "omar")
    (order,) = seed.faults
    assert (order.fault, order.scope, order.times) == ("slow", Scope(provider="oidc"), 3)
    assert order.with_ == {"leg": "token", "seconds": 0.5}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("applications = 1", "Expected `array | null`, got `int` - at `$.applications`"),
        ("[[people]]\nid = 'a'\nnmae = 'b'", "Object contains unknown field `nmae` - at `$.people[0]`"),
        ("[[applications]]\nprovider = 'x'\nclient_id = 'a'\nredirect_uris = ['/']", "is not an absolute URI"),
        ("[[applications]]\nprovider = 'y'\nclient_id = 'a'\nredirect_uris = ['http://a/']", "'y' is not a provider"),
        ("[lifetimes]\nacess = 1", "lifetimes: 'acess=1' is not one of code, access, refresh, id"),
        ("=", "is not valid: "),
    ],
)
def test_an_unusable_file_is_told_with_its_member(read: Read, text: str, told: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(text)

    assert NAME in str(refused.value)
    assert told in str(refused.value)


def test_init_writes_a_file_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    first, second = (CliRunner().invoke(fake_oauth, ["--init"]) for _ in range(2))

    assert (first.exit_code, (tmp_path / NAME).read_text(encoding="utf-8")) == (0, EXAMPLE)
    assert (second.exit_code, second.output) == (1, f"Error: {NAME} already exists. Delete it first, or edit it.\n")


def test_a_fake_starts_with_a_seed_and_returns_to_it(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text(EXAMPLE + '[[faults]]\nfault = "status-500"\nscope = { provider = "oidc" }\n', encoding="utf-8")

    with (
        running("--seed", str(path)) as (address, _),
        httpx.Client(base_url=address, trust_env=False, timeout=PATIENCE) as http,
    ):
        http.delete("/lab/people/ada")
        http.delete(f"/lab/faults/{data(http.get('/lab/faults'))[0]['id']}")
        http.post("/lab/reset")
        people, faults = data(http.get("/lab/people")), data(http.get("/lab/faults"))
        clients = data(http.get("/lab/clients"))

    assert people[-1] == {"id": "ada", "name": "Ada Lovelace", "email": "ada@example.com"} | {
        "claims": {"locale": "en", "groups": ["staff"]}
    }
    assert len(people) == len(SEEDED) + 1
    assert [rule["fault"] for rule in faults] == ["status-500"]
    assert [client["client_id"] for client in clients] == ["my-app"]


def test_an_unknown_fault_in_the_file_ends_the_start(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_text('[[faults]]\nfault = "slwo"', encoding="utf-8")

    result = CliRunner().invoke(fake_oauth, ["--port", "0", "--seed", str(path)])

    assert result.exit_code == 1
    assert "'slwo' is not a fault. Did you mean 'slow'?" in result.output


async def test_unknown_members_of_an_application_are_refused(lab: httpx.AsyncClient) -> None:
    client = {"provider": "x", "client_id": "a", "redirect_uris": ["http://a/"], "redirect_uri": "http://b/"}

    answer = await lab.post("/lab/clients", json=client)

    assert answer.status_code == 400
    assert "redirect_uri" in answer.json()["error"]["message"]
