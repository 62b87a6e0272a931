"""Tests of every fault of a social provider.

The server must report the right code and leave no data behind. Providers differ: google has an id_token and userinfo,
apple has only an id_token, and each other provider has its own profile format.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import msgspec
import pytest

from chatkey_oauth.faults.rules import Order, Rule, Scope
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_server.identity.tokens import IdentityToken
from chatkey_server.social import flow
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.oauth.fake.person import Person

    from chatkey_oauth.app import App

SOCIALS = AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS
SIGNED = ("google", "apple")
PROFILED = ("google", "github", "x", "tiktok")
FAMILIES = ("google", "apple", "github", "x", "tiktok")

Arm = Callable[..., Rule]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]
IdentityIn = Callable[..., Awaitable[IdentityToken]]
NobodyCameIn = Callable[..., Awaitable[None]]


class Case(NamedTuple):
    """A fault with its options, the providers that can have the fault, and the code of the server's refusal."""

    fault: str
    socials: tuple[str, ...]
    code: str = "oauth_failed"
    options: Mapping[str, Any] = MappingProxyType({})
    lasting: bool = False


TOLD = [
    Case("deny", FAMILIES, "oauth_denied"),
    Case("cancel", SOCIALS, "oauth_denied"),
    Case("error-and-code", FAMILIES, "oauth_denied"),
    Case("error-and-code", ("github",), options={"error": "temporarily_unavailable"}),
    Case("callback-error", FAMILIES),
    Case("code-dropped", FAMILIES, "parameter_missing"),
    Case("code-altered", FAMILIES),
    Case("wrong-callback-iss", ("google", "github", "apple"), "parameter_invalid"),
    Case("missing-scope", ("tiktok", "amazon")),  # the only scope that is requested of these two
    Case("code-used", SOCIALS),
    Case("code-expired", FAMILIES),
    Case("client-refused", SOCIALS),
    Case("no-access-token", FAMILIES),
    Case("null-member", FAMILIES),
    Case("token-type", FAMILIES),
    Case("expires-in", ("github",), options={"expires_in": "soon"}),
    Case("form-encoded", FAMILIES),
    Case("token-refused", FAMILIES),
    Case("error-with-200", FAMILIES),
    Case("no-id-token", SIGNED),
    Case("malformed-id-token", SIGNED),
    Case("bad-signature", SIGNED),
    Case("foreign-key", SIGNED),
    Case("unknown-kid", SIGNED),
    Case("no-kid", SIGNED),  # two keys are published, and the server must not guess
    Case("embedded-key", SIGNED),
    Case("alg-none", SIGNED),
    Case("alg-hs256", SIGNED),
    Case("unknown-crit", SIGNED),
    Case("wrong-iss", SIGNED),
    Case("wrong-aud", SIGNED),
    Case("second-aud", SIGNED),
    Case("wrong-azp", SIGNED),
    Case("wrong-nonce", SIGNED),
    Case("no-nonce", SIGNED),
    Case("expired", SIGNED),
    Case("issued-in-future", SIGNED),
    Case("wrong-at-hash", SIGNED),
    Case("no-claim", SIGNED),
    Case("sub-number", SIGNED),
    Case("key-missing", SIGNED, lasting=True),
    Case("other-modulus", SIGNED, lasting=True),
    Case("profile-refused", PROFILED),
    Case("other-sub", ("google", "gitlab")),
    Case("no-sub", PROFILED),
    Case("empty-sub", PROFILED),
    Case("empty-profile", PROFILED),
    Case("profile-list", PROFILED),
    Case("duplicate-members", ("google", "github"), options={"leg": "profile"}),
    *(
        Case(fault, socials, options={"leg": leg})
        for fault in (
            "status-500",
            "unavailable",
            "rate-limited",
            "redirected",
            "malformed-json",
            "empty-answer",
            "huge-answer",
            "wrong-content-type",
        )
        for leg, socials in (("token", FAMILIES), ("profile", PROFILED), ("keys", SIGNED))
    ),
]

HARMLESS = [
    ("keys-rotated", ("google", "gitlab", "apple"), {}),
    ("key-missing", SIGNED, {}),  # missing once: the server fetches the keys again
    ("other-modulus", SIGNED, {}),
    ("no-callback-iss", ("google", "github"), {}),
    ("wrong-callback-iss", ("facebook", "x", "tiktok", "amazon"), {}),  # these have no issuer to compare it with
    ("expires-in", FAMILIES, {"expires_in": -1}),
    ("expires-in", ("google", "x"), {"expires_in": None}),
    ("slow", FAMILIES, {"seconds": 0.01}),
    ("slow", PROFILED, {"seconds": 0.01, "leg": "profile"}),
    ("slow", SIGNED, {"seconds": 0.01, "leg": "keys"}),
]
WITHOUT_EMAIL = [
    ("missing-scope", ("google", "facebook", "github", "gitlab", "discord", "apple", "x")),
    ("email-verified-text", ("google", "discord")),
]

ONE_BY_ONE = {
    *("state-dropped", "state-altered", "state-swapped", "other-redirect-uri"),
    *("popup-left-open", "error-page", "hang", "reset", "truncated"),
}
NOT_MET = {
    "coop-same-origin": "it is the browser that acts on it",
    "coop-same-origin-allow-popups": "it is the browser that acts on it",
    "coop-noopener-allow-popups": "it is the browser that acts on it",
    "no-refresh-token": "the server asks for none",
    "other-issuer": "the server reads no discovery document",
}


def test_every_fault_is_tested_or_has_a_reason_not_to_be(fake: App) -> None:
    met = {case.fault for case in TOLD} | {fault for fault, *_ in (*HARMLESS, *WITHOUT_EMAIL)} | ONE_BY_ONE

    assert met | NOT_MET.keys() == {info.name for info in fake.faults.catalogue()}
    assert not met & NOT_MET.keys()


def named(case: Case | tuple[Any, ...]) -> str:
    options = next((part for part in case if isinstance(part, Mapping)), {})
    return "-".join([case[0], *map(str, options.values())])


@pytest.fixture
def arm(fake: App) -> Arm:
    """Arm a fault at one provider, by default for a single request."""

    def armed(fault: str, social: str, options: Mapping[str, Any] | None = None, *, lasting: bool = False) -> Rule:
        times = None if lasting else 1
        return fake.faults.arm(Order(fault=fault, scope=Scope(provider=social), times=times, with_={**(options or {})}))

    return armed


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server abort a login after 0.3 seconds."""
    monkeypatch.setattr(flow, "BackChannel", partial(flow.BackChannel, patience=0.3))


@pytest.mark.contract("D-09/error", "4.5/steps")
@pytest.mark.parametrize("case", TOLD, ids=named)
async def test_a_misbehaving_provider_fails_the_login_and_the_opener_gets_the_error(
    fake: App, person: Person, arm: Arm, nobody_came_in: NobodyCameIn, case: Case
) -> None:
    for social in case.socials:
        rule = arm(case.fault, social, case.options, lasting=case.lasting)

        page = await person.log_in(social)

        assert rule.hits > 0, social
        await nobody_came_in(page, case.code, "n-1")
        assert page.status_code == (502 if case.code == "oauth_failed" else 400)
        assert f"<code>{case.code}</code>" in page.text

    fake.faults.clear()
    assert (await person.log_in(case.socials[0])).status_code == 200


@pytest.mark.contract("D-09/error")
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize(
    ("social", "leg"),
    [("google", "token"), ("google", "keys"), ("google", "profile"), ("apple", "token"), ("x", "profile")],
)
async def test_a_provider_that_never_answers_fails_the_login_and_the_opener_gets_the_error(
    person: Person, arm: Arm, nobody_came_in: NobodyCameIn, social: str, leg: str
) -> None:
    rule = arm("hang", social, {"leg": leg})

    page = await person.log_in(social)

    assert rule.hits == 1
    assert "did not answer in time. Please try again." in page.text
    await nobody_came_in(page, "oauth_failed", "n-1")


@pytest.mark.contract("D-03/state-400")
@pytest.mark.parametrize(
    ("fault", "code"), [("state-dropped", "parameter_missing"), ("state-altered", "state_invalid")]
)
async def test_a_changed_state_gets_a_page_with_instructions_and_the_opener_no_message(
    person: Person, arm: Arm, delivered: Delivered, fault: str, code: str
) -> None:
    for social in FAMILIES:
        rule = arm(fault, social)

        page = await person.log_in(social)

        assert rule.hits == 1
        assert (page.status_code, delivered(page)) == (400, None)
        assert f"<code>{code}</code>" in page.text
        assert "Start" in page.text
    assert await ChatCustomer.count() == 0


async def test_a_callback_of_another_social_provider_is_refused(
    fake: App, person: Person, arm: Arm, delivered: Delivered
) -> None:
    mistaken = "http://localhost:8800/v1/public/oauth/gitlab/callback"
    known = fake.world.clients.get("google", "our-google-client")
    assert known is not None
    fake.world.clients.add(msgspec.structs.replace(known, redirect_uris=(*known.redirect_uris, mistaken)))
    rule = arm("other-redirect-uri", "google")

    page = await person.log_in("google")

    assert (rule.hits, page.status_code, delivered(page)) == (1, 400, None)
    assert "<code>state_invalid</code>" in page.text
    assert await ChatCustomer.count() == 0


@pytest.mark.parametrize("social", ["google", "github", "x", "amazon", "apple"])
async def test_the_state_of_another_login_does_not_let_this_code_in(
    person: Person, arm: Arm, nobody_came_in: NobodyCameIn, social: str
) -> None:
    """PKCE binds the code to its login. Apple uses the nonce for this. TikTok's web login has neither."""
    await person.ask(social)
    rule = arm("state-swapped", social)

    page = await person.log_in(social)

    assert rule.hits == 1
    await nobody_came_in(page, "oauth_failed", "n-1")


@pytest.mark.parametrize("fault", ["popup-left-open", "error-page"])
async def test_a_popup_from_which_nobody_returns_leaves_nothing_behind(person: Person, arm: Arm, fault: str) -> None:
    rule = arm(fault, "github")

    answer = await person.ask("github")
    if fault == "popup-left-open":
        answer = await person.decide(answer)

    assert rule.hits == 1
    assert "location" not in answer.headers
    assert await ChatCustomer.count() == 0


@pytest.mark.parametrize("case", HARMLESS, ids=named)
async def test_harmless_faults_do_not_fail_the_login(
    person: Person, arm: Arm, identity_in: IdentityIn, case: tuple[str, tuple[str, ...], dict[str, Any]]
) -> None:
    fault, socials, options = case
    for social in socials:
        rule = arm(fault, social, options)

        identity = await identity_in(await person.log_in(social))

        assert rule.hits == 1, social
        assert identity.uid.social == social


@pytest.mark.parametrize("case", WITHOUT_EMAIL, ids=named)
async def test_a_login_without_a_usable_email_succeeds_without_one(
    person: Person, arm: Arm, identity_in: IdentityIn, case: tuple[str, tuple[str, ...]]
) -> None:
    fault, socials = case
    for social in socials:
        rule = arm(fault, social)

        identity = await identity_in(await person.log_in(social))

        assert rule.hits == 1, social
        assert (identity.profile.name, identity.profile.email) == ("Rhea Quill", None), social


@pytest.mark.parametrize("leg", ["token", "profile"])
async def test_the_time_to_wait_of_a_rate_limited_provider_is_passed_on(
    person: Person, arm: Arm, delivered: Delivered, leg: str
) -> None:
    told = {}
    for social in ("google", "github", "gitlab", "discord", "x", "tiktok", "amazon"):
        arm("rate-limited", social, {"leg": leg, "retry_after": 120})
        delivery = delivered(await person.log_in(social))
        assert delivery is not None
        told[social] = delivery["message"]["error"]["message"].partition(". ")[2]

    later, then = "Please try again later.", "Please try again in 2 minutes."
    assert told == {
        "google": later,
        "github": later,
        "gitlab": then,
        "discord": then,
        "x": later,
        "tiktok": later,
        "amazon": then,
    }
