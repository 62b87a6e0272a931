"""Callbacks of a social login: `state` and the other parameters are checked before the social provider is called."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import urlencode

from chatkey_conform.capabilities import SOCIAL
from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite.http_endpoints import MOST_PARAMETERS
from chatkey_conform.suite.start import sent_to, start
from chatkey_peer.key import b64

FAMILY = Family("callback", "Callback of a social login", "protocol.md#the-callback")
FORM: Final = "application/x-www-form-urlencoded"
AT_ONCE: Final = 5
MOST_BODY: Final = 2**20
NONCE: Final = re.compile(r"'nonce-([^']*)'")


def begun(subject: Subject, shop: Shop) -> str:
    """Start a login, and return its state."""
    answer = start(subject, shop, jkt=shop.key.jkt, nonce="the-widgets-own-nonce")
    return str(sent_to(answer).get("state", ""))


def arrive(subject: Subject, shop: Shop, *, method: str = "GET", social: str = "", **given: str) -> Answer:
    """Send these parameters to the callback: in the query, or as a posted form."""
    path = f"/v1/public/oauth/{social or shop.social}/callback"
    if method != "POST":
        return subject.request(method, path, query=given)
    return subject.request("POST", path, headers={"Content-Type": FORM}, content=urlencode(given).encode())


def holds(subject: Subject, shop: Shop, state: str) -> None:
    """Check that a state is still valid. The check uses HEAD, which does not use up the state."""
    answer = arrive(subject, shop, method="HEAD", state=state, code="x")
    expect((answer.status, answer.body), (200, b""), "Status and body of HEAD with a valid state")


DAMAGED: Final[dict[str, Callable[[str], str]]] = {
    "OAC-002-first": lambda state: ("B" if state[0] != "B" else "C") + state[1:],
    "OAC-002-middle": lambda state: _bent(state, len(state) // 2),
    "OAC-002-mac": lambda state: _bent(state, max(0, len(state) - 20)),
    "OAC-002-last": lambda state: _bent(state, len(state) - 1),
    "OAC-002-truncated": lambda state: state[:-1],
    "OAC-002-no-mac": lambda state: state.partition(".")[0] if "." in state else state[1:],
    "OAC-002-empty-mac": lambda state: state.partition(".")[0] + ".",
    "OAC-002-no-payload": lambda state: "." + state.partition(".")[2],
    "OAC-002-dot": lambda state: state + ".",
    "OAC-002-nul": lambda state: state + "\0",
    "OAC-002-half": lambda state: state[: len(state) // 2],
    "OAC-002-padded": lambda state: state + "=",
    "OAC-002-space": lambda state: state + " ",
    "OAC-002-accent": lambda state: state + "\u00e9",
    "OAC-012-2k": lambda state: state + "A" * 2000,
    "OAC-012-20k": lambda state: state + "A" * 20_000,
    "never-made": lambda _: b64(b"a state that nobody made, and nobody signed"),
}


def _bent(state: str, at: int) -> str:
    return state[:at] + ("B" if state[at] == "A" else "A") + state[at + 1 :]


@FAMILY.judges("D-03/state-400", "5.7/state", "4.5/steps", each=DAMAGED)
def a_state_that_is_not_as_it_was_given_is_400(subject: Subject, damage: Callable[[str], str]) -> None:
    """An altered state is answered with 400, and the original state stays valid."""
    shop = subject.shop()
    state = begun(subject, shop)
    arrive(subject, shop, state=damage(state), code="x").page(400)
    holds(subject, shop, state)


@FAMILY.judges(
    "D-03/parameter-400",
    each={
        "OAC-001": {"code": "x"},
        "OAC-001-empty": {"code": "x", "state": ""},
        "OAC-023": {"error": "access_denied"},
    },
)
def without_a_state_it_is_400(subject: Subject, given: dict[str, str]) -> None:
    """A callback without a state is answered with 400, even if it reports an error."""
    arrive(subject, subject.shop(), **given).page(400)


@FAMILY.judges("D-07/single-use", "D-09/error", "4.5/get-and-post", each=("GET", "POST"), rows=["OAC-021", "OAC-006"])
def who_declines_is_400_and_the_state_is_used_up(subject: Subject, method: str) -> None:
    """`access_denied` is answered with 400 and uses up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    arrive(subject, shop, method=method, state=state, error="access_denied").page(400)

    arrive(subject, shop, state=state, error="server_error").page(400)


@FAMILY.judges("D-09/error", each=("access_denied", "user_denied", "user_cancelled_authorize", "denied"))
def every_word_for_a_no_is_400(subject: Subject, word: str) -> None:
    """A callback is answered with 400 for each error code that social providers send when the person declines."""
    shop = subject.shop()
    arrive(subject, shop, state=begun(subject, shop), error=word).page(400)


@FAMILY.judges("4.5/page", "5.7/verified-origin", "D-09/error")
def the_page_tells_the_registered_origin_alone(subject: Subject) -> None:
    """The page of a declined sign-in posts its message to the registered origin, and never to `*`."""
    shop = subject.shop()
    text = arrive(subject, shop, state=begun(subject, shop), error="access_denied").text.replace("\\/", "/")
    if "postMessage" not in text:
        raise OtherLimit("the script that calls postMessage is not in the page itself")

    expect_that(shop.origin in text, "The page that calls postMessage does not contain the registered origin")
    expect_that(re.search(r"""["']\*["']""", text) is None, "The page calls postMessage with the target origin *")


@FAMILY.judges("D-09/error", each=("user_denied", "access_denied"))
def a_no_may_stand_in_the_reason(subject: Subject, word: str) -> None:
    """An error code that means "declined" is also recognised in `error_reason`."""
    shop = subject.shop()
    arrive(subject, shop, state=begun(subject, shop), error="refused", error_reason=word).page(400)


@FAMILY.judges("D-09/error", "4.5/steps")
def an_error_code_of_facebooks_is_502(subject: Subject) -> None:
    """A Facebook error in `error_code` is answered with 502."""
    subject.needs(f"{SOCIAL}facebook")
    shop = subject.shop()
    if "facebook" not in shop.business.socials:
        raise OtherLimit("the business has not enabled facebook")
    state = str(sent_to(start(subject, shop, "facebook")).get("state", ""))
    arrive(subject, shop, social="facebook", state=state, error_code="200").page(502)


@FAMILY.judges("D-09/error", "4.5/steps", rows=["OAC-022"])
def a_no_counts_before_a_code_beside_it(subject: Subject) -> None:
    """`access_denied` together with a `code` is answered with 400, and the code is not exchanged."""
    shop = subject.shop()
    arrive(subject, shop, state=begun(subject, shop), error="access_denied", code="x").page(400)


@FAMILY.judges("D-09/error", "4.5/steps", rows=["OAC-023", "OAC-022"], each={"alone": "", "beside-a-code": "x"})
def another_error_is_502(subject: Subject, code: str) -> None:
    """Any other error from the social provider is answered with 502, even together with a `code`."""
    shop = subject.shop()
    given = {"error": "server_error", **({"code": code} if code else {})}
    arrive(subject, shop, state=begun(subject, shop), **given).page(502)


@FAMILY.judges("D-07/single-use", "4.5/steps", rows=["OAC-030"])
def a_callback_with_neither_code_nor_error_is_400_and_uses_the_state_up(subject: Subject) -> None:
    """A callback with neither `code` nor `error` is answered with 400 and uses up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    arrive(subject, shop, state=state).page(400)
    arrive(subject, shop, state=state, error="server_error").page(400)


@FAMILY.judges(
    "D-03/parameter-400", "D-07/single-use", each={"empty": "", "line": "a\nb", "accent": "\u00e9", "long": "c" * 2049}
)
def a_code_of_another_form_is_400_and_uses_the_state_up(subject: Subject, code: str) -> None:
    """A `code` that is not 1 to 2048 visible ASCII characters is answered with 400 and uses up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    arrive(subject, shop, state=state, code=code).page(400)
    arrive(subject, shop, state=state, error="server_error").page(400)


@FAMILY.judges("D-03/start-pages", "D-09/error")
def no_two_pages_have_one_nonce(subject: Subject) -> None:
    """Every page has a different nonce in its Content-Security-Policy."""
    shop = subject.shop()
    answers = [arrive(subject, shop, state=begun(subject, shop), error="access_denied") for _ in range(2)]
    for answer in answers:
        answer.page(400)
    nonces = [set(NONCE.findall(answer.header("content-security-policy"))) for answer in answers]

    expect_that(not nonces[0] & nonces[1], "Two pages have the same nonce in their Content-Security-Policy")


@FAMILY.judges("D-07/single-use", "4.5/steps")
def of_callbacks_at_the_same_time_one_has_the_state(subject: Subject) -> None:
    """If several callbacks use the same state at once, only one of them succeeds."""
    shop = subject.shop()
    state = begun(subject, shop)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = [pool.submit(arrive, subject, shop, state=state, error="server_error") for _ in range(AT_ONCE)]
        statuses = sorted(answer.result().status for answer in answers)

    expect(statuses, [400] * (AT_ONCE - 1) + [502], "The statuses of simultaneous callbacks with the same state")


@FAMILY.judges("D-03/methods", "D-07/single-use")
def a_look_uses_nothing_up(subject: Subject) -> None:
    """HEAD does not use up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    holds(subject, shop, state)
    arrive(subject, shop, state=state, error="server_error").page(502)


@FAMILY.judges("D-03/state-400", "D-03/methods")
def head_of_a_callback_judges_the_state(subject: Subject) -> None:
    """HEAD with an altered state is answered with 400."""
    shop = subject.shop()
    answer = arrive(subject, shop, method="HEAD", state=f"{begun(subject, shop)}x", code="x")

    expect((answer.status, answer.body), (400, b""), "Status and body of HEAD with an altered state")


@FAMILY.judges("D-03/parameter-400", "4.5/get-and-post")
def what_stands_in_query_and_form_is_repeated(subject: Subject) -> None:
    """A parameter that is in both the query and the form is answered with 400 and does not use up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    given = {"state": state, "error": "server_error"}
    path, form = f"/v1/public/oauth/{shop.social}/callback", urlencode(given).encode()
    subject.request("POST", path, query={"state": state}, headers={"Content-Type": FORM}, content=form).page(400)
    subject.request("POST", path, headers={"Content-Type": f"{FORM}; charset=UTF-8"}, content=form).page(502)


@FAMILY.judges("D-07/issuer", rows=["OAC-029"])
def an_issuer_that_is_not_the_providers_is_400(subject: Subject) -> None:
    """An `iss` other than the social provider's own issuer is answered with 400."""
    shop = subject.shop()
    if shop.social not in {"google", "github", "gitlab", "apple"}:
        raise OtherLimit(f"{shop.social} has no issuer")
    state = begun(subject, shop)
    arrive(subject, shop, state=state, code="x", iss="https://issuer.invalid").page(400)


@FAMILY.judges("D-07/still-allowed", "5.7/state", rows=["OAC-008"])
def a_state_is_good_at_the_callback_of_its_own_social_provider(subject: Subject) -> None:
    """A state is refused with 400 at another social provider's callback and stays valid at the right callback."""
    shop = subject.shop()
    others = [social for social in shop.business.socials if social != shop.social]
    if not others:
        raise OtherLimit("the business has enabled only one social login")
    state = begun(subject, shop)
    arrive(subject, shop, social=others[0], state=state, code="x").page(400)
    holds(subject, shop, state)


@FAMILY.judges("D-03/social-unknown")
def the_callback_of_an_unknown_social_provider_is_404(subject: Subject) -> None:
    """The callback of an unknown social provider is answered with 404."""
    arrive(subject, subject.shop(), social="myspace", state="x", code="x").page(404)


@FAMILY.judges("D-03/parameter-400", each=("state", "code", "iss", "error"), rows=["OAC-011"])
def a_parameter_that_comes_twice_is_400(subject: Subject, name: str) -> None:
    """A repeated parameter is answered with 400 and does not use up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    pairs = {"state": state, "code": "x"}
    query = f"{urlencode(pairs)}&{urlencode({name: pairs.get(name, 'x')})}"
    query += f"&{urlencode({name: 'x'})}" if name not in pairs else ""
    subject.request("GET", f"/v1/public/oauth/{shop.social}/callback", query=query).page(400)
    holds(subject, shop, state)


@FAMILY.judges(
    "4.5/get-and-post",
    each=("application/json", "application/xml", "text/plain", "multipart/form-data; boundary=x", f"{FORM}x"),
    rows=["OAC-032"],
)
def a_post_of_anything_but_a_form_is_415(subject: Subject, kind: str) -> None:
    """A POST whose body is not a form is answered with 415 and does not use up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    path = f"/v1/public/oauth/{shop.social}/callback"
    subject.request("POST", path, headers={"Content-Type": kind}, content=b"{}").page(415)
    holds(subject, shop, state)


@FAMILY.judges("4.5/get-and-post", rows=["OAC-032"])
def a_post_without_a_body_is_415(subject: Subject) -> None:
    """A POST without a body is answered with 415 and does not use up the state."""
    shop = subject.shop()
    state = begun(subject, shop)
    query = {"state": state, "error": "server_error"}
    subject.request("POST", f"/v1/public/oauth/{shop.social}/callback", query=query).page(415)
    holds(subject, shop, state)


def post(subject: Subject, shop: Shop, form: str) -> Answer:
    """Post a form to the callback."""
    path = f"/v1/public/oauth/{shop.social}/callback"
    return subject.request("POST", path, headers={"Content-Type": FORM}, content=form.encode())


@FAMILY.judges("D-20/limits", "D-03/parameter-400", "4.5/get-and-post")
def a_form_has_so_many_bytes_and_no_more(subject: Subject) -> None:
    """A form may be as long as the limit for queries; one more byte is answered with 400 and keeps the state valid."""
    shop, most = subject.shop(), subject.limits.query_bytes
    state = begun(subject, shop)
    given = f"{urlencode({'state': state, 'error': 'server_error'})}&x="
    if not len(given) < most < subject.limits.body_bytes:
        raise OtherLimit(f"not tested with query_bytes = {most}")

    post(subject, shop, given.ljust(most + 1, "1")).page(400)
    post(subject, shop, given.ljust(most, "1")).page(502)


@FAMILY.judges("D-20/limits", "D-03/parameter-400", "4.5/get-and-post")
def a_form_has_32_parameters_and_no_more(subject: Subject) -> None:
    """A form may have 32 parameters; one more is answered with 400 and does not use up the state."""
    shop = subject.shop()
    given = urlencode({"state": begun(subject, shop), "error": "server_error"})

    post(subject, shop, given + "&x=1" * (MOST_PARAMETERS - 1)).page(400)
    post(subject, shop, given + "&x=1" * (MOST_PARAMETERS - 2)).page(502)


@FAMILY.judges("D-20/limits", "4.5/get-and-post", page="limits.md#limits")
def a_body_has_so_many_bytes_and_no_more(subject: Subject) -> None:
    """A body at the size limit is answered with 400, because the form is too long.

    A larger body is answered with 413.
    """
    shop, most = subject.shop(), subject.limits.body_bytes
    if not subject.limits.query_bytes < most <= MOST_BODY:
        raise OtherLimit(f"not tested with body_bytes = {most}")
    state = begun(subject, shop)
    given = f"{urlencode({'state': state, 'error': 'server_error'})}&x="

    post(subject, shop, given.ljust(most, "1")).page(400)
    expect(post(subject, shop, given.ljust(most + 1, "1")).status, 413, "The status of a body above the limit")
    holds(subject, shop, state)


@FAMILY.judges("D-03/methods", each=("PUT", "DELETE", "PATCH"), rows=["OAC-033"])
def other_methods_are_405(subject: Subject, method: str) -> None:
    """Any method other than GET, HEAD and POST is answered with 405 and `Allow`."""
    shop = subject.shop()
    answer = arrive(subject, shop, method=method, state="x", code="x")

    expect(answer.status, 405, f"The status of {method}")
    allowed = {part.strip().upper() for part in answer.header("allow").split(",")}
    expect_that({"GET", "HEAD", "POST"} <= allowed, f"Allow lacks GET, HEAD or POST: {answer.header('allow')!r}")


@FAMILY.judges(
    "5.7/ten-minutes",
    "8/state-validity",
    alone=True,
    needs=["clock"],
    rows=["OAC-004"],
    each={"in time": 570, "too late": 601, "next day": 86_400},
)
def a_state_lives_ten_minutes(subject: Subject, age: int) -> None:
    """A state is valid for ten minutes."""
    shop = subject.shop()
    state = begun(subject, shop)
    subject.advance(age)

    if age < 600:
        holds(subject, shop, state)
    else:
        arrive(subject, shop, state=state, error="server_error").page(400)


@FAMILY.judges("D-07/still-allowed", alone=True, needs=["businesses", "change", "clock"], rows=["OAC-013", "OAC-014"])
def a_callback_asks_again_whether_all_is_still_good(subject: Subject) -> None:
    """A callback is refused if the business, origin or social login was removed or disabled after the start."""
    shop, other, third = (subject.shop_with() for _ in range(3))
    state, late, last = (begun(subject, each) for each in (shop, other, third))
    subject.change(shop, enabled=False)
    arrive(subject, shop, state=state, code="x").page(403)
    subject.change(other, domains=["new.example"])
    arrive(subject, other, state=late, code="x").page(400)
    logins = subject.world.logins()
    subject.change(third, socials={name: {**login, "enabled": False} for name, login in logins.items()})
    arrive(subject, third, state=last, code="x").page(404)
