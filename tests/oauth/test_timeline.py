"""Tests of a login's timeline: the steps, and the verdicts on PKCE, state, nonce, client and redirect URI."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import msgspec
import pytest
from tests.oauth.visitor import VERIFIER, Visitor

from chatkey_oauth.engine.flows import Flow, Leg, Step
from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.faults.rules import Order, Scope
from chatkey_oauth.faults.verdicts import good
from chatkey_oauth.providers import NAMES
from chatkey_oauth.timeline import steps_with_news, timeline_text

STATE = "mine-0123456789abcdef"
NONCE = "n-0123456789abcdef"
PKCE = {"code_challenge": s256(VERIFIER), "code_challenge_method": "S256"}
EVERY = pytest.mark.parametrize("name", NAMES)


def timeline(visitor: Visitor) -> list[Step]:
    flow: Flow = visitor.fake.flows.all()[0]
    return flow.steps


def marks(step: Step) -> dict[str, str]:
    return {name: verdict.mark for name, verdict in step.verdicts.items()}


def said(step: Step, name: str) -> tuple[str, str]:
    return step.verdicts[name].mark, step.verdicts[name].words


@EVERY
def test_a_login_is_told_from_the_page_to_the_profile(visitor: Visitor, name: str) -> None:
    page = visitor.ask(state=STATE)
    flow = visitor.fake.flows.all()[0]
    request = "&".join(f"{key}={value}" for key, value in visitor.request(state=STATE).items())
    visitor.post("/consent", f"account=rhea&decision=approve&flow={flow.id}".encode(), request)
    code = next(iter(visitor.fake.provider(name).grants.codes._entries))
    token = msgspec.json.decode(visitor.redeem(code).body)
    if visitor.site.profile:
        visitor.profile(token["access_token"])

    legs = [Leg.AUTHORIZE, Leg.CONSENT, Leg.CODE, Leg.TOKEN, *([Leg.PROFILE] if visitor.site.profile else [])]
    assert page.status == 200
    assert [step.leg for step in flow.steps] == legs
    assert [step.status for step in flow.steps] == [200, 302, 302, 200, 200][: len(legs)]
    assert all(step.at == visitor.fake.clock() for step in flow.steps)
    assert {step.verdicts["state"].mark for step in flow.steps} == {"good"}
    assert flow.steps[3].verdicts["client"].mark == "good"
    assert flow.steps[3].verdicts["redirect_uri"].mark == "good"
    assert flow.account == "rhea"


def test_a_login_with_everything_is_good_at_each_step(google: Visitor) -> None:
    code = google.callback(state=STATE, nonce=NONCE, **PKCE)["code"]
    token = msgspec.json.decode(google.redeem(code, code_verifier=VERIFIER).body)["access_token"]
    google.profile(token)

    assert [marks(step) for step in timeline(google)] == [
        {"pkce": "good", "state": "good", "nonce": "good", "redirect_uri": "good"},
        {"pkce": "good", "state": "good", "nonce": "good", "redirect_uri": "good"},
        {"pkce": "good", "state": "good", "nonce": "good", "client": "good", "redirect_uri": "good"},
        {"pkce": "good", "state": "good", "nonce": "good"},
    ]


@pytest.mark.parametrize(
    ("asked", "name", "mark", "words"),
    [
        ({}, "pkce", "absent", "no code_challenge: anyone who obtains the code can redeem it"),
        (PKCE, "pkce", "good", "challenge with the method 'S256'"),
        (
            {"code_challenge": VERIFIER},
            "pkce",
            "odd",
            "challenge with the method plain: anyone who sees this request knows the verifier",
        ),
        (
            {"state": None},
            "state",
            "absent",
            "no state: login CSRF is possible, unless PKCE or a nonce is tied to this browser",
        ),
        ({"state": "abc"}, "state", "odd", "state of 3 characters: short enough to be guessed"),
        ({"state": "a"}, "state", "odd", "state of 1 character: short enough to be guessed"),
        ({"state": STATE}, "state", "good", "state of 21 characters"),
        ({}, "nonce", "absent", "no nonce: the id_token of another login could be injected"),
        ({"nonce": NONCE}, "nonce", "good", "nonce of 18 characters"),
        ({"nonce": "n1"}, "nonce", "odd", "nonce of 2 characters: short enough to be guessed"),
        ({}, "redirect_uri", "good", "registered"),
        ({"redirect_uri": "https://stranger.example/"}, "redirect_uri", "wrong", "not registered for this client"),
    ],
)
def test_the_authorization_request_is_judged(
    google: Visitor, asked: dict[str, str | None], name: str, mark: str, words: str
) -> None:
    google.ask(**asked)

    assert said(timeline(google)[0], name) == (mark, words)


@pytest.mark.parametrize("scope", ["read:user", "openid"])
def test_without_an_id_token_a_nonce_is_not_missed(github: Visitor, scope: str) -> None:
    github.ask(scope=scope)

    assert "nonce" not in timeline(github)[0].verdicts


def test_a_redirect_uri_that_may_be_left_out_is_absent(github: Visitor) -> None:
    github.ask(redirect_uri=None)

    assert said(timeline(github)[0], "redirect_uri") == ("absent", "no redirect_uri: the registered one is used")


@pytest.mark.parametrize(
    ("asked", "given", "name", "mark", "words"),
    [
        (PKCE, {"code_verifier": VERIFIER}, "pkce", "good", "code_verifier matches the challenge"),
        (PKCE, {"code_verifier": "x" * 43}, "pkce", "wrong", "code_verifier does not match the challenge"),
        (PKCE, {}, "pkce", "wrong", "code_verifier missing"),
        ({}, {"code_verifier": VERIFIER}, "pkce", "odd", "code_verifier without a challenge: it protects nothing"),
        ({}, {}, "pkce", "absent", "neither challenge nor verifier"),
        ({}, {}, "redirect_uri", "good", "same as in the authorization request"),
        ({}, {"redirect_uri": "https://x.example/"}, "redirect_uri", "wrong", "differs from the authorization request"),
        ({}, {"redirect_uri": None}, "redirect_uri", "absent", "no redirect_uri"),
        ({}, {}, "client", "good", "client_secret_post"),
        ({}, {"client_secret": "nonsense"}, "client", "wrong", "client_secret_post: wrong secret"),
        ({}, {"client_secret": None}, "client", "wrong", "no secret: wrong secret"),
        ({}, {"client_id": "nobody"}, "client", "wrong", "client_secret_post: no such client"),
    ],
)
def test_the_token_request_is_judged(
    *, google: Visitor, asked: dict[str, str], given: dict[str, Any], name: str, mark: str, words: str
) -> None:
    google.redeem(google.callback(**asked)["code"], **given)

    assert said(timeline(google)[-1], name) == (mark, words)


def test_a_basic_header_is_named(google: Visitor) -> None:
    basic = f"Basic {b64encode(b'ours:ours-secret').decode()}"

    google.redeem(google.callback()["code"], client_id=None, client_secret=None, basic=basic)

    assert said(timeline(google)[-1], "client") == ("good", "client_secret_basic")


def test_a_secret_in_an_address_is_odd(facebook: Visitor) -> None:
    params = {"code": facebook.callback()["code"], "redirect_uri": "https://chat.example/callback"}

    facebook.get(facebook.site.token, params | {"client_id": "ours", "client_secret": "ours-secret"})

    assert said(timeline(facebook)[-1], "client") == ("odd", "in the address: secrets in addresses end up in logs")


def test_an_unreadable_body_is_reported(discord: Visitor) -> None:
    code = discord.callback()["code"]

    discord.post(discord.site.token, f'{{"code": "{code}"}}'.encode(), content_type="application/json")

    assert said(timeline(discord)[-1], "client") == ("wrong", "unreadable: content-type")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("state-dropped", "missing in the callback"),
        ("state-altered", "altered in the callback"),
    ],
)
def test_a_client_that_redeems_the_code_of_a_bad_callback_is_reported(google: Visitor, fault: str, words: str) -> None:
    google.fake.faults.arm(Order(fault=fault, scope=Scope(state=STATE)))

    google.redeem(google.callback(state=STATE)["code"])

    consent, code, token = timeline(google)
    assert (consent.faults, code.faults, token.faults) == ([], [fault], [])
    assert said(consent, "state") == ("good", "state of 21 characters")
    assert said(code, "state") == ("wrong", words)
    assert said(token, "state") == ("wrong", f"the client redeems the code although its state was {words}")


def test_a_client_that_stops_at_a_bad_callback_is_not_blamed(google: Visitor) -> None:
    google.fake.faults.arm(Order(fault="state-dropped", scope=Scope(state=STATE)))

    google.callback(state=STATE)

    assert [step.leg for step in timeline(google)] == [Leg.CONSENT, Leg.CODE]


def test_a_callback_that_was_not_sent_is_not_judged(google: Visitor) -> None:
    google.fake.faults.arm(Order(fault="popup-left-open"))

    google.decide(state="abc")

    step = timeline(google)[-1]
    assert (step.status, step.note) == (200, "the popup stays open")
    assert said(step, "state") == ("odd", "state of 3 characters: short enough to be guessed")


def test_a_different_redirect_uri_in_the_token_request_is_reported(google: Visitor) -> None:
    client = google.fake.world.clients.get("google", "ours")
    assert client is not None
    second = "https://chat.example/second"
    google.fake.world.clients.add(msgspec.structs.replace(client, redirect_uris=(*client.redirect_uris, second)))
    google.fake.faults.arm(Order(fault="other-redirect-uri"))

    google.decide(state=STATE)

    step = timeline(google)[-1]
    assert (step.path, said(step, "redirect_uri")[0]) == (second, "wrong")


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({}, "authorization_code"),
        ({"code_verifier": None, "client_secret": "nonsense"}, "refused: client_secret"),
        ({"redirect_uri": "https://x.example/"}, "refused: redirect_uri"),
        ({"grant_type": "password"}, "refused: grant_type"),
    ],
)
def test_a_refusal_is_noted_where_the_status_may_not_tell(github: Visitor, given: dict[str, Any], note: str) -> None:
    github.redeem(github.callback()["code"], **given)

    step = timeline(github)[-1]
    assert (step.status, step.note) == (200, note)


def test_any_input_can_be_written_to_the_timeline(google: Visitor) -> None:
    code = google.callback(state="\udcff", login_hint="\udcff", nonce="\udcff", code_challenge="\udcff")["code"]

    google.redeem(code, grant_type="\udcff" * 100, code_verifier="\udcff", redirect_uri="\udcff")

    written = msgspec.json.decode(msgspec.json.encode(timeline(google)))
    (flow,) = google.fake.flows.all()
    assert flow.login_hint == "\N{REPLACEMENT CHARACTER}"
    assert [step["leg"] for step in written] == ["consent", "code", "token"]


def test_the_persons_decision_is_noted(google: Visitor) -> None:
    google.decide(decision="deny", state=STATE)

    consent, code = timeline(google)
    assert consent.note == "declined"
    assert (code.leg, code.status, code.note) == (Leg.CODE, 302, "carries error, state, iss")


def test_faults_are_noted_at_the_step_they_bent(google: Visitor) -> None:
    for fault in ("state-altered", "slow", "other-sub"):
        google.fake.faults.arm(Order(fault=fault))

    google.profile(google.access_token())

    assert [step.faults for step in timeline(google)] == [[], ["state-altered"], ["slow"], ["other-sub"]]


def test_a_form_post_is_a_step_like_a_redirect(apple: Visitor) -> None:
    apple.decide(state=STATE, scope="name email", response_mode="form_post")

    step = timeline(apple)[-1]
    assert (step.leg, step.method, step.status, step.path) == (Leg.CODE, "POST", 200, "https://chat.example/callback")


@EVERY
def test_a_timeline_holds_no_secret_no_code_no_token_and_no_state(visitor: Visitor, name: str) -> None:
    private: dict[str, Any] = {"state": STATE, "nonce": NONCE, "login_hint": "rhea@example.com", **PKCE}
    visitor.decide(**private)
    code = next(iter(visitor.fake.provider(name).grants.codes._entries))
    tokens = msgspec.json.decode(visitor.redeem(code, code_verifier=VERIFIER).body)
    visitor.profile(str(tokens.get("access_token")), visitor.site.profile or "/auth/keys")

    written = msgspec.json.encode(timeline(visitor)).decode()

    assert len(timeline(visitor)) >= 3
    secrets = [STATE, NONCE, VERIFIER, PKCE["code_challenge"], "ours-secret", code, "rhea@example.com"]
    secrets += [value for member, value in tokens.items() if member.endswith("_token")]
    assert not [secret for secret in secrets if secret and secret in written]


def test_each_step_of_a_timeline_contains_only_what_is_new(google: Visitor) -> None:
    google.ask(state=STATE)
    google.decide(state=STATE)
    flow = google.fake.flows.all()[0]

    news = [dict(new) for _, new in steps_with_news(flow)]

    assert set(news[0]) == {"pkce", "state", "nonce", "redirect_uri"}
    assert news[1] == {"state": good("returned unchanged")}
    assert timeline_text(flow).count("pkce absent") == 1
    assert len(flow.steps[1].verdicts) > len(news[1])
