"""Tests of the rules that arm faults: invalid rules, scopes, repetition, and the count of hits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.oauth.faults.journey import Arm, travel
from tests.oauth.visitor import Visitor

from chatkey_oauth.faults.catalogue import FAMILIES, FAULTS
from chatkey_oauth.faults.errors import FaultError
from chatkey_oauth.faults.fault import Fault
from chatkey_oauth.faults.rules import RULES, Order, Scope
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from chatkey_oauth.app import App


@pytest.mark.parametrize(
    ("order", "member", "told"),
    [
        ({"fault": "slwo"}, "fault", "'slwo' is not a fault. Did you mean 'slow'?"),
        ({"fault": "volcano"}, "fault", "'volcano' is not a fault. GET /lab lists all faults."),
        ({"fault": "slow", "with": {"secs": 1}}, "with.secs", "slow has no such option. Its options: leg, seconds."),
        ({"fault": "reset", "with": {"seconds": 1}}, "with.seconds", "reset has no such option. Its options: leg."),
        ({"fault": "deny", "with": {"x": 1}}, "with.x", "deny has no such option. Its options: none."),
        ({"fault": "slow", "with": {"seconds": "1"}}, "with.seconds", "Expected `float`, got `str`."),
        ({"fault": "slow", "with": {"seconds": -1}}, "with.seconds", "Expected `float` >= 0.0."),
        ({"fault": "status-500", "with": {"status": 200}}, "with.status", "Expected `int` >= 400."),
        ({"fault": "slow", "with": {"leg": "moon"}}, "with.leg", "Invalid enum value 'moon'."),
        (
            {"fault": "duplicate-members", "with": {"leg": "keys"}},
            "with.leg",
            "duplicate-members cannot act on keys. It can act on: token, profile.",
        ),
        ({"fault": "slow", "scope": {"provider": "myspace"}}, "scope.provider", "'myspace' is not one of google, "),
        (
            {"fault": "key-missing", "scope": {"state": "s"}},
            "scope.state",
            "requests for keys do not belong to a flow, client or account. Scope key-missing to a provider.",
        ),
        (
            {"fault": "slow", "scope": {"client_id": "ours"}, "with": {"leg": "discovery"}},
            "scope.client_id",
            "requests for discovery do not belong to a flow",
        ),
    ],
)
def test_an_impossible_order_is_refused_with_the_member_at_fault(
    fake: App, order: dict[str, Any], member: str, told: str
) -> None:
    with pytest.raises(FaultError) as refused:
        fake.faults.arm(msgspec.convert(order, Order))

    assert refused.value.member == member
    assert str(refused.value).startswith(f"{member}: {told}")
    assert fake.faults.rules() == []


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ({"fault": "slow", "times": 0}, "$.times"),
        ({"fault": "slow", "scope": {"cookies": "x"}}, "$.scope"),
        ({"fault": "slow", "with_": {}}, "with_"),
        ({}, "fault"),
    ],
)
def test_an_order_has_known_members_only(order: dict[str, Any], told: str) -> None:
    with pytest.raises(msgspec.ValidationError) as refused:
        msgspec.convert(order, Order)

    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("scope", "meant"),
    [
        (Scope(), True),
        (Scope(provider="google"), True),
        (Scope(provider="github"), False),
        (Scope(client_id="ours"), True),
        (Scope(client_id="theirs"), False),
        (Scope(account="rhea"), True),
        (Scope(account="omar"), False),
        (Scope(state="s-1"), True),
        (Scope(state="s-2"), False),
        (Scope(login_hint="rhea@example.com"), True),
        (Scope(login_hint="omar@corp.example"), False),
        (Scope(cookie="test-7"), True),
        (Scope(cookie="test-8"), False),
        (Scope(flow="f_0000000000000000"), False),
        (Scope(provider="google", client_id="ours", account="rhea", state="s-1", cookie="test-7"), True),
        (Scope(provider="google", client_id="ours", account="rhea", state="s-1", cookie="test-8"), False),
    ],
)
@pytest.mark.contract("D-14/faults")
def test_a_rule_applies_to_flows_that_match_its_whole_scope(
    google: Visitor, arm: Arm, scope: Scope, meant: bool
) -> None:
    rule = arm("code-used", scope=scope)
    asked = {"state": "s-1", "login_hint": "rhea@example.com"}
    google.get(google.site.authorize, google.request(**asked), cookie="a=b; chatkey_flow=test-7")
    (flow,) = google.fake.flows.all()
    form = f"account=rhea&decision=approve&flow={flow.id}".encode()
    google.post("/consent", form, "&".join(f"{name}={value}" for name, value in google.request(**asked).items()))
    code = next(iter(google.fake.provider("google").grants.codes._entries))

    answer = google.redeem(code)

    assert (rule.hits == 1) is meant
    assert (answer.status == 400) is meant


def test_a_rule_can_be_limited_to_one_flow_by_its_id(google: Visitor, arm: Arm) -> None:
    google.ask(state="first")
    google.ask(state="second")
    second, first = google.fake.flows.all()

    rule = arm("state-dropped", scope=Scope(flow=first.id))
    of_second, of_first = (
        google.post("/consent", f"account=rhea&decision=approve&flow={flow.id}".encode(), encoded(google, flow.state))
        for flow in (second, first)
    )

    assert "state=second" in dict(of_second.headers)["location"]
    assert "state=" not in dict(of_first.headers)["location"]
    assert rule.hits == 1


def encoded(google: Visitor, state: str | None) -> str:
    """Return the query of the authorization request with this state."""
    return "&".join(f"{name}={value}" for name, value in google.request(state=state).items())


def test_a_request_without_a_flow_is_met_by_provider_and_client_alone(google: Visitor, arm: Arm) -> None:
    by_state = arm("status-500", scope=Scope(state="s-1"), times=None)
    by_other_client = arm("status-500", scope=Scope(client_id="theirs"), times=None)
    untouched = google.redeem("4/0Aunknown")
    by_client = arm("status-500", scope=Scope(provider="google", client_id="ours"))

    met = google.redeem("4/0Aunknown")

    assert (untouched.status, met.status) == (400, 500)
    assert [rule.hits for rule in (by_state, by_other_client, by_client)] == [0, 0, 1]


def test_a_rule_matches_the_client_of_a_basic_header(x: Visitor, arm: Arm) -> None:
    rule = arm("status-500", scope=Scope(client_id="ours"))

    answer = x.redeem("unknown")

    assert (answer.status, rule.hits) == (500, 1)


@pytest.mark.parametrize(("times", "statuses"), [(1, [500, 400, 400]), (2, [500, 500, 400]), (None, [500, 500, 500])])
def test_a_rule_acts_the_given_number_of_times(
    google: Visitor, arm: Arm, times: int | None, statuses: list[int]
) -> None:
    rule = arm("status-500", scope=Scope(provider="google"), times=times)

    answers = [google.redeem("4/0Aunknown") for _ in range(3)]

    assert [answer.status for answer in answers] == statuses
    assert rule.hits == statuses.count(500)
    assert rule.spent is (times is not None)


def test_a_disarmed_rule_tells_its_hits_and_acts_no_more(google: Visitor, arm: Arm) -> None:
    rule = arm("status-500", scope=Scope(), times=None)
    google.redeem("4/0Aunknown")

    disarmed = google.fake.faults.disarm(rule.id)

    assert disarmed is rule
    assert rule.hits == 1
    assert google.redeem("4/0Aunknown").status == 400
    assert google.fake.faults.disarm(rule.id) is None
    assert google.fake.faults.get(rule.id) is None


def test_rules_that_were_never_hit_are_listed(google: Visitor, arm: Arm) -> None:
    met, unmet = arm("code-used"), arm("no-id-token")

    travel(google, state="another")
    assert google.fake.faults.unused() == [unmet, met]
    travel(google)

    assert google.fake.faults.unused() == [unmet]


@pytest.mark.parametrize(
    "fault", ["no-id-token", "no-callback-iss", "bad-signature", "wrong-nonce", "email-verified-text"]
)
def test_a_fault_with_nothing_to_change_is_not_hit(visit: Callable[[str], Visitor], arm: Arm, fault: str) -> None:
    rule = arm(fault)

    journey = travel(visit("amazon"))

    assert [answer.status for answer in journey.answers] == [200, 302, 200, 200]
    assert rule.hits == 0


def test_several_faults_act_together_in_the_order_they_were_armed(google: Visitor, arm: Arm) -> None:
    rules = [arm("wrong-iss", value="https://first.example"), arm("wrong-iss", value="https://second.example")]
    rules += [arm("state-dropped"), arm("slow", seconds=5), arm("other-sub")]

    journey = travel(google)

    assert [rule.hits for rule in rules] == [1, 1, 1, 1, 1]
    assert journey.claims["iss"] == "https://second.example"
    assert "state" not in journey.callback


@pytest.mark.parametrize("leg", ["token", "profile"])
@pytest.mark.parametrize("first", ["malformed-json", "empty-answer", "wrong-content-type", "profile-list"])
@pytest.mark.parametrize("then", FAULTS)
def test_any_two_faults_can_be_combined(google: Visitor, arm: Arm, leg: str, first: str, then: str) -> None:
    for fault in (first, then):
        if leg in FAULTS[fault].legs:
            arm(fault, Scope(provider="google"), None, **({"leg": leg} if hasattr(FAULTS[fault], "leg") else {}))

    journey = travel(google)

    assert all(200 <= answer.status < 600 for answer in journey.answers)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_works_with_every_provider(visitor: Visitor, arm: Arm, name: str, fault: str) -> None:
    arm(fault, scope=Scope(provider=name), times=None)

    journey = travel(visitor)

    assert all(200 <= answer.status < 600 for answer in journey.answers)
    assert not any(set("\r\n") & set(value) for answer in journey.answers for _, value in answer.headers)


def test_a_reset_disarms_everything(fake: App, arm: Arm, google: Visitor) -> None:
    arm("status-500", scope=Scope(), times=None)

    fake.reset()

    assert fake.faults.rules() == []
    assert google.redeem("4/0Aunknown").status == 400


def test_the_oldest_rule_is_forgotten_when_there_are_too_many(fake: App, arm: Arm, google: Visitor) -> None:
    oldest = arm("status-500", scope=Scope(), times=None)

    for _ in range(RULES):
        arm("slow", scope=Scope(flow="f_none"))

    assert len(fake.faults.rules()) == RULES
    assert oldest not in fake.faults.rules()
    assert google.redeem("4/0Aunknown").status == 400


def test_the_catalogue_describes_every_fault_in_one_line(fake: App) -> None:
    catalogue = fake.faults.catalogue()

    assert [info.name for info in catalogue] == list(FAULTS)
    for info in catalogue:
        assert info.legs, info.name
        assert info.summary.endswith("."), info.name
        assert all(option.summary.endswith(".") for option in info.options), info.name
    slow = next(info for info in catalogue if info.name == "slow")
    assert [(option.name, option.default) for option in slow.options] == [("leg", "token"), ("seconds", 3.0)]
    assert msgspec.json.encode(catalogue)


def test_no_two_faults_share_a_name_and_all_are_in_the_catalogue() -> None:
    listed = [fault for family in FAMILIES.values() for fault in family]

    assert len(listed) == len(FAULTS)
    assert {fault.name for fault in named()} == set(FAULTS)


def named() -> list[type[Any]]:
    """Yield every subclass of a fault that defines a name."""
    found, seen = list(Fault.__subclasses__()), []
    while found:
        kind = found.pop()
        found += kind.__subclasses__()
        seen.append(kind)
    return [kind for kind in seen if "name" in vars(kind)]


def test_a_rule_is_written_with_the_options_of_its_order(arm: Arm) -> None:
    rule = arm("slow", scope=Scope(provider="google"), seconds=2)

    written = msgspec.json.decode(msgspec.json.encode(rule))

    assert written["with"] == {"seconds": 2}
    assert written["scope"] == {"provider": "google"}
    assert (written["fault"], written["times"], written["hits"]) == ("slow", 1, 0)
    assert written["id"].startswith("r_")
