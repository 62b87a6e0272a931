"""Tests of flows: how a flow begins, which requests belong to a flow, and when a flow is deleted."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.flows import FLOWS, STEPS, Flow, Flows, Leg, Step
from chatkey_oauth.engine.hooks import UNTOUCHED
from chatkey_oauth.engine.http import encode
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from chatkey_oauth.app import App

EVERY = pytest.mark.parametrize("name", NAMES)
LEGS = {
    **dict.fromkeys(("discovery", "instance", "metadata"), Leg.DISCOVERY),
    **dict.fromkeys(("jwks", "certificates"), Leg.KEYS),
    "authorize": Leg.AUTHORIZE,
    "consent": Leg.CONSENT,
    "token": Leg.TOKEN,
    **dict.fromkeys(("revoke", "delete_token", "remove_permissions"), Leg.REVOKE),
    **dict.fromkeys(("authorization", "check_token", "debug_token", "emails", "introspect", "me"), Leg.PROFILE),
    "reset_token": Leg.PROFILE,
    **dict.fromkeys(("people_me", "token_info", "user", "userinfo", "userinfo_v2"), Leg.PROFILE),
    **dict.fromkeys(("connections", "graphql", "guilds", "older_profile", "token_info_v2"), Leg.PROFILE),
    **dict.fromkeys(("avatar", "device", "gone", "logout", "rate_limit"), None),
}
"""The step of a login for each provider endpoint. The keys are names of methods."""


@EVERY
def test_a_request_to_the_authorization_endpoint_begins_a_flow(visitor: Visitor, name: str) -> None:
    request = visitor.request(state="s-1") | {visitor.fake.provider(name).hint: "rhea"}

    visitor.get(visitor.site.authorize, request, cookie="chatkey_flow=test-1; other=2")

    (flow,) = visitor.fake.flows.all()
    assert flow.id.startswith("f_")
    assert len(flow.id) == 18
    assert (flow.provider, flow.client_id, flow.state) == (name, "ours", "s-1")
    assert (flow.login_hint, flow.cookie, flow.account) == ("rhea", "test-1", None)
    assert flow.began_at == visitor.fake.clock()


def test_members_that_the_request_lacks_are_none(google: Visitor) -> None:
    google.ask(state=None)

    (flow,) = google.fake.flows.all()
    assert (flow.state, flow.login_hint, flow.cookie) == (None, None, None)


def test_an_unknown_client_begins_a_flow_that_names_what_came_what_is_registered_and_the_remedy(
    google: Visitor,
) -> None:
    page = google.ask(client_id="nobody")

    (flow,) = google.fake.flows.all()
    assert (flow.client_id, flow.steps[0].status) == ("nobody", 401)
    for words in ("The request has client_id 'nobody'.", "Registered at google: 'ours', 'theirs'.", "--clients"):
        assert words in flow.steps[0].note
        assert escape(words) in page.body.decode()


@pytest.mark.parametrize(
    ("name", "asked", "note"),
    [
        ("google", {"client_id": None}, "The request has no client_id."),
        (
            *("github", {"redirect_uri": "https://elsewhere.example/"}),
            "The request has redirect_uri 'https://elsewhere.example/'.",
        ),
        (
            *("gitlab", {"scope": "openid everything"}),
            "The request has scope 'openid everything'. GitLab supports: 'openid', 'profile', 'email'",
        ),
    ],
)
def test_a_flow_notes_what_is_wrong_with_its_request(visitor: Visitor, asked: dict[str, str | None], note: str) -> None:
    visitor.ask(**asked)

    (flow,) = visitor.fake.flows.all()
    assert flow.client_id == ("" if "client_id" in asked else "ours")
    assert note in flow.steps[0].note


@pytest.mark.parametrize("name", [name for name in NAMES if name != "github"])
def test_the_page_and_the_timeline_name_a_redirect_uri_that_is_not_registered(visitor: Visitor) -> None:
    page = visitor.ask(redirect_uri="https://chat.example/callback/")

    (flow,) = visitor.fake.flows.all()
    for words in (
        "The request has redirect_uri 'https://chat.example/callback/'.",
        "Registered for 'ours': 'https://chat.example/callback'.",
        "POST /lab/clients",
    ):
        assert words in flow.steps[0].note
        assert escape(words) in page.body.decode()


@pytest.mark.parametrize(
    ("name", "scope", "path", "needed", "granted"),
    [
        ("github", "read:user", "/user/emails", "'user:email' or 'user'", "'read:user'"),
        ("gitlab", "openid", "/api/v4/user", "'api' or 'read_api' or 'read_user'", "'openid'"),
        ("discord", "email", "/api/users/@me", "'identify'", "'email'"),
        ("tiktok", "user.info.basic", "/v2/user/info/?", "'user.info.stats'", "'user.info.basic'"),
    ],
)
def test_a_forgotten_scope_is_named_where_it_is_missed(
    visitor: Visitor, scope: str, path: str, needed: str, granted: str
) -> None:
    visitor.profile(
        visitor.access_token(scope=scope),
        path.rstrip("?"),
        **({"fields": "open_id,video_count"} if "?" in path else {}),
    )

    (flow,) = visitor.fake.flows.all()
    assert f"requires the scope {needed}; the token has {granted}. Add it to scope" in flow.steps[-1].note


def test_quoted_parameters_are_cut_short(google: Visitor) -> None:
    google.ask(client_id="c" * 5000)

    (flow,) = google.fake.flows.all()
    assert len(flow.steps[0].note) < 600
    assert len(flow.client_id) == 255


def test_a_request_refused_for_its_redirect_uri_begins_one_that_says_why(google: Visitor) -> None:
    google.ask(redirect_uri="https://stranger.example/")

    (flow,) = google.fake.flows.all()
    (step,) = flow.steps
    assert (step.leg, step.status, step.verdicts["redirect_uri"].mark) == (Leg.AUTHORIZE, 400, "wrong")


def test_the_consent_form_belongs_to_the_flow_of_its_page(google: Visitor) -> None:
    google.ask(state="first")
    google.ask(state="second")
    _, first = google.fake.flows.all()

    google.post("/consent", f"account=omar&decision=approve&flow={first.id}".encode(), query(google, "first"))

    assert first.account == "omar"
    assert [step.leg for step in first.steps] == [Leg.AUTHORIZE, Leg.CONSENT, Leg.CODE]
    assert len(google.fake.flows.all()) == 2


def query(visitor: Visitor, state: str) -> str:
    return encode(visitor.request(state=state))


@pytest.mark.parametrize("flow", ["", "f_0000000000000000", "nonsense"])
def test_a_form_of_a_forgotten_page_begins_a_flow_anew(google: Visitor, flow: str) -> None:
    google.post("/consent", f"account=omar&decision=approve&flow={flow}".encode(), query(google, "s-1"))

    (begun,) = google.fake.flows.all()
    assert (begun.state, begun.account) == ("s-1", "omar")


def test_a_form_cannot_join_the_flow_of_another_provider(google: Visitor, gitlab: Visitor) -> None:
    gitlab.ask()
    (foreign,) = gitlab.fake.flows.all()

    google.post("/consent", f"account=omar&decision=approve&flow={foreign.id}".encode(), query(google, "s-1"))

    assert [step.leg for step in foreign.steps] == [Leg.AUTHORIZE]
    assert foreign.account is None


def test_token_refresh_profile_and_revocation_belong_to_the_flow(google: Visitor) -> None:
    tokens = google.login(access_type="offline")
    google.profile(tokens["access_token"])
    google.refresh(tokens["refresh_token"])
    google.post("/revoke", {"token": tokens["refresh_token"]})

    (flow,) = google.fake.flows.all()
    assert [step.leg for step in flow.steps] == ["consent", "code", "token", "profile", "token", "revoke"]


def test_the_log_tells_which_leg_of_which_flow_a_request_was(google: Visitor) -> None:
    for path in ("/o/oauth2/v2/auth", "/oauth2/v3/certs", "/avatars/rhea.svg", "/nothing"):
        google.get(path, google.request())

    (flow,) = google.fake.flows.all()
    assert [(entry.leg, entry.flow) for entry in google.fake.log.find()] == [
        (Leg.AUTHORIZE, flow.id),
        (Leg.KEYS, None),
        (None, None),
        (None, None),
    ]


def test_without_the_lab_there_are_no_flows(make_fake: Callable[..., App], google: Visitor) -> None:
    google.fake = make_fake()

    tokens = google.login()
    google.profile(tokens["access_token"])

    assert google.fake.flows.all() == []
    assert google.fake.log.find() == []
    assert all(code.grant.flow is None for code in google.fake.provider("google").grants.codes.newest_first())


def test_answering_a_request_does_not_change_its_hooks(google: Visitor) -> None:
    call = Call("GET", "/google/o/oauth2/v2/auth", encode(google.request()))

    google.fake.answer(call)

    assert call.hooks is UNTOUCHED


def test_the_oldest_flow_is_forgotten_when_there_are_too_many() -> None:
    numbers = iter(range(10_000))
    flows = Flows(lambda: 0.0, lambda length: next(numbers).to_bytes(length))
    first = flows.begin("google", "ours")

    for _ in range(FLOWS):
        flows.begin("google", "ours")

    assert len(flows.all()) == FLOWS
    assert flows.get(first.id) is None
    assert flows.all()[0].id == f"f_{FLOWS:016x}"


def test_a_flow_keeps_a_limited_number_of_steps(google: Visitor) -> None:
    token = google.access_token()

    for _ in range(STEPS + 5):
        google.profile(token)

    (flow,) = google.fake.flows.all()
    assert len(flow.steps) == STEPS
    assert flow.steps[0].leg is Leg.CONSENT


def test_a_reset_forgets_the_flows(google: Visitor) -> None:
    google.ask()

    google.fake.reset()

    assert google.fake.flows.all() == []


def test_no_flow_shares_its_steps_with_another() -> None:
    one, two = (Flow(id=name, provider="google", client_id="ours", began_at=0.0) for name in "ab")

    one.add(Step(leg=Leg.TOKEN, at=0.0, method="POST", path="/token", status=200))

    assert (len(one.steps), two.steps) == (1, [])


def test_a_flow_does_not_print_its_state() -> None:
    flow = Flow(id="f_1", provider="google", client_id="ours", began_at=0.0, state="very-private")

    assert repr(flow) == "<Flow f_1 of ours at google, 0 steps>"


@EVERY
def test_every_endpoint_of_a_provider_is_a_known_leg(visitor: Visitor, name: str) -> None:
    endpoints = visitor.fake.provider(name).endpoints()

    assert {path: route.leg for path, route in endpoints.items()} == {
        path: LEGS[route.handler.__name__] for path, route in endpoints.items()
    }
