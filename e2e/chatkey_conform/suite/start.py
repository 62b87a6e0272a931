"""The start of a social login: which pages may start a login, the redirect, and the required content of the answer."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from chatkey_conform.capabilities import SOCIAL
from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.shop import Shop, path_of
from chatkey_conform.subject.subject import Subject
from chatkey_conform.subject.world import CLIENT
from chatkey_peer.key import Json, b64
from chatkey_protocol.names import SOCIALS

FAMILY = Family("start", "Start of a social login", "protocol.md#the-start-of-a-social-login")

SCOPES: Final = {
    "google": "openid email profile",
    "facebook": "email public_profile",
    "github": "read:user user:email",
    "gitlab": "openid profile email",
    "discord": "identify email",
    "apple": "name email",
    "x": "users.read tweet.read users.email",
    "tiktok": "user.info.basic",
    "amazon": "profile",
}
LONG: Final = "nonce" * 13
SEPARATORS: Final = ".:~|-"
VERIFIER: Final = re.compile(rb"[A-Za-z0-9_-]{43,128}")
WITH_PKCE: Final = frozenset(SCOPES) - {"apple", "tiktok"}


def start(subject: Subject, shop: Shop, social: str = "", **query: str) -> Answer:
    """Start a social login."""
    given = {"origin": shop.origin, **query}
    return subject.get(f"{shop.path}/oauth/{social or shop.social}", **given)


def sent_to(answer: Answer) -> Json:
    """Return the query parameters of the redirect. Raises `Broken` unless the answer is a 302."""
    expect(answer.status, 302, f"The status of {answer.asked}")
    location = answer.header("location")
    parts = urlsplit(location)
    expect_that(parts.scheme in {"https", "http"} and parts.netloc, "Location of the start is not an absolute URL")
    return dict(parse_qsl(parts.query, keep_blank_values=True))


WRONG: Final[dict[str, Callable[[str], str]]] = {
    "OAS-003-shouted": lambda origin: origin.upper(),
    "OAS-003-host": lambda origin: "://".join((origin.partition("://")[0], origin.partition("://")[2].upper())),
    "OAS-004": lambda origin: f"{origin}:443" if not urlsplit(origin).port else f"{origin}0",
    "OAS-005": lambda origin: f"{origin}1" if urlsplit(origin).port else f"{origin}:8443",
    "OAS-006": lambda origin: origin.replace("https://", "http://") if origin.startswith("https") else f"{origin}.",
    "OAS-007-sub": lambda origin: origin.replace("://", "://sub."),
    "OAS-007-www": lambda origin: origin.replace("://", "://www."),
    "OAS-008": lambda origin: f"{origin}.evil.test",
    "OAS-009-glued": lambda origin: origin.replace("://", "://evil"),
    "OAS-009-hyphen": lambda origin: origin.replace("://", "://evil-"),
    "OAS-010-port": lambda origin: f"{origin}:443@evil.test",
    "OAS-010": lambda origin: f"{origin}@evil.test",
    "OAS-011": lambda origin: origin.replace("://", "://user:pw@"),
    "OAS-013": lambda origin: f"{origin}\\@evil.test",
    "OAS-015-no-slashes": lambda origin: origin.replace("://", ":"),
    "OAS-015-three-slashes": lambda origin: origin.replace("://", ":///"),
    "OAS-015-backslashes": lambda origin: origin.replace("://", ":\\\\"),
    "F177-slash": lambda origin: f"{origin}/",
    "F177-path": lambda origin: f"{origin}/checkout",
    "OAS-016-host": lambda origin: origin.partition("://")[2],
    "OAS-016-relative": lambda origin: "//" + origin.partition("://")[2],
    "OAS-018-star": lambda _: "*",
    "OAS-018-slash": lambda _: "/",
    "OAS-018-null": lambda _: "null",
    "OAS-022-javascript": lambda origin: f"javascript:alert(1)//{origin}",
    "OAS-022-data": lambda origin: f"data:text/html,{origin}",
    "OAS-022-file": lambda _: "file:///",
    "OAS-022-about": lambda _: "about:blank",
    "OAS-022-extension": lambda origin: origin.replace("https://", "chrome-extension://").replace("http:", "moz:"),
    "OAS-022-blob": lambda origin: f"blob:{origin}/x",
    "OAS-023-dot": lambda origin: f"{origin}.",
    "OAS-023-dots": lambda origin: f"{origin}..",
    "OAS-025": lambda origin: f"{origin}\r\nX-Injected: 1",
    "OAS-025-body": lambda origin: f"{origin}\r\nX-Injected: a=1\r\n\r\n<h1>",
    "OAS-028-full-width": lambda origin: origin[:8] + "".join(_wide(letter) for letter in origin[8:]),
    "OAS-028-ideographic-dot": lambda origin: origin.replace(".", "\u3002") if "." in origin else f"{origin}\u3002",
    "OAS-028-encoded-dot": lambda origin: origin.replace(".", "%2e") if "." in origin else f"{origin}%2e",
    "OAS-030-short": lambda _: "https://127.1",
    "OAS-030-hex": lambda _: "https://0x7f.1",
    "OAS-030-decimal": lambda _: "https://2130706433",
    "OAS-030-v6": lambda _: "https://[::1]",
    "OAS-030-name": lambda _: "https://localhost",
    "OAS-032-space": lambda origin: f"{origin} https://evil.test",
    "OAS-034-ftp": lambda origin: origin.replace("https", "ftp").replace("http", "ftp"),
    "OAS-034-view-source": lambda origin: f"view-source:{origin}",
    "OAS-032-comma": lambda origin: f"{origin},https://evil.test",
    "OAS-034-wss": lambda origin: origin.replace("https", "wss").replace("http", "ws"),
    "foreign": lambda _: "https://evil.test",
}


def _wide(letter: str) -> str:
    return chr(ord(letter) + 0xFEE0) if letter.isalpha() else letter


def _is_loopback(origin: str) -> bool:
    name = (urlsplit(origin).hostname or "").lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


@FAMILY.judges("4.4/origin-checked", "2.1/domain", "D-08/exact", each=WRONG)
def an_origin_that_is_not_the_registered_text_is_403(subject: Subject, bend: Callable[[str], str]) -> None:
    """An origin that is not exactly a registered one is refused with 403 and without a redirect."""
    shop = subject.shop()
    _ = shop.social
    origin = bend(shop.origin)
    if origin in shop.business.origins or (origin.startswith("http://") and _is_loopback(origin)):
        raise OtherLimit(f"{origin} is a registered or loopback origin")
    answer = start(subject, shop, origin=origin)

    answer.page(403)
    expect_that("location" not in answer.headers, "A refused start has a Location header")
    expect_that("x-injected" not in answer.headers, "A line break in `origin` adds a response header")


@FAMILY.judges(
    "D-03/start-pages",
    each={
        "OAS-019-nothing": ("", 400),
        "OAS-019-empty": ("origin=", 400),
        "OAS-019-case": ("Origin=https%3A%2F%2Fshop.example", 400),
        "OAS-033": (f"origin=https%3A%2F%2F{'x' * 300}", 400),
        "twice": ("origin={origin}&origin={origin}", 400),
        "jkt-twice": (f"origin={{origin}}&jkt={'A' * 43}&jkt={'A' * 43}", 400),
        "nonce-twice": ("origin={origin}&nonce=a&nonce=a", 400),
    },
)
def without_one_origin_it_is_400(subject: Subject, query: str, status: int) -> None:
    """`origin` is required exactly once, with at most 300 characters, and no known parameter may be repeated."""
    shop = subject.shop()
    text = query.replace("{origin}", urlencode({"o": shop.origin})[2:])
    answer = subject.request("GET", f"{shop.path}/oauth/{shop.social}", query=text)

    answer.page(status)


@FAMILY.judges(
    "D-03/start-pages",
    "D-03/social-unknown",
    "4.4/enabled-only",
    "7/not-enabled-404",
    each={
        "origin-there-before-provider": ("nobody-has-this", "nobody", {"origin": ""}, 400),
        "its-size-too": ("nobody-has-this", "nobody", {"origin": "x" * 301}, 400),
        "OAS-043": ("nobody-has-this", "", {}, 404),
        "origin-before-social": ("", "nobody", {"origin": "https://evil.test"}, 403),
        "OAS-040-unknown": ("", "myspace", {}, 404),
        "OAS-040-shouted": ("", "GOOGLE", {}, 404),
        "social-before-jkt": ("", "nobody", {"jkt": "x"}, 404),
        "jkt": ("", "", {"jkt": "x"}, 400),
        "nonce": ("", "", {"nonce": "a b"}, 400),
        "long-nonce": ("", "", {"nonce": "n" * 65}, 400),
    },
)
def a_start_is_judged_in_one_order(
    subject: Subject, provider: str, social: str, query: dict[str, str], status: int
) -> None:
    """Checks run in the order: `origin` present, business, origin registered, social provider, `jkt` and `nonce`."""
    shop = subject.shop()
    path = path_of(provider or shop.id)
    given = {"origin": shop.origin, **query}
    answer = subject.get(f"{path}/oauth/{social or shop.social}", **given)

    answer.page(status)


@FAMILY.judges("D-03/start-pages", "D-03/parameter-400")
def a_nonce_of_another_form_does_not_come_back(subject: Subject) -> None:
    """A `nonce` that is too long is refused with 400, and the error page does not contain the `nonce`."""
    shop = subject.shop()
    answer = start(subject, shop, nonce=LONG)

    answer.page(400)
    expect_that(LONG not in answer.text, "The error page contains the invalid nonce")


@FAMILY.judges("4.4/enabled-only", "7/not-enabled-404", "4.4/names", each=tuple(SOCIALS), rows=["OAS-040", "OAS-041"])
def a_social_login_that_is_not_enabled_is_404(subject: Subject, social: str) -> None:
    """A social login that the business did not enable is answered with 404."""
    shop = subject.shop_with(socials={}) if subject.has("businesses") else subject.shop()
    if social in shop.business.socials:
        raise OtherLimit(f"the business has enabled {social}")
    start(subject, shop, social).page(404)


@FAMILY.judges(
    "4.4/redirect",
    "1/mode-service-keys",
    "4.5/one-callback",
    "D-07/pkce",
    each=tuple(SOCIALS),
    rows=["OAS-046", "OAS-047"],
)
def a_start_leads_to_the_social_provider_with_all_that_binds_it(subject: Subject, social: str) -> None:
    """A login start redirects with scope, callback address, a new state and, if supported, PKCE."""
    subject.needs(f"{SOCIAL}{social}")
    shop = subject.shop()
    if social not in shop.business.socials:
        raise OtherLimit(f"the business has not enabled {social}")
    honest = {"jkt": shop.key.jkt, "nonce": "n" * 64}
    first, second = (start(subject, shop, social, **honest) for _ in range(2))
    sent, again = sent_to(first), sent_to(second)

    expect_that("no-store" in first.header("cache-control").lower(), "Cache-Control of the redirect lacks no-store")
    expect(first.body, b"", "The body of the redirect")
    expect(first.listed("referrer-policy")[-1], "no-referrer", "Referrer-Policy of the redirect")
    expect_that("set-cookie" not in first.headers, "A start sets a cookie")
    expect(sent.get("response_type"), "code", "response_type")
    callback = f"{subject.world.target.base_url}/v1/public/oauth/{social}/callback"
    expect(sent.get("redirect_uri"), callback, "redirect_uri")
    scope = set(str(sent.get("scope", "")).replace(",", " ").split())
    expect(scope, set(SCOPES[social].split()), "scope")
    expect_that(sent.get("state") and sent["state"] != again.get("state"), "Two starts have the same state, or none")
    if social in WITH_PKCE:
        expect(sent.get("code_challenge_method"), "S256", "code_challenge_method")
        expect(len(str(sent.get("code_challenge", ""))), 43, "The length of code_challenge")
        expect_that(sent["code_challenge"] != again.get("code_challenge"), "Two starts have the same code_challenge")
    leads = first.header("location")
    expect_that("client_secret" not in sent, "Location of the start has a client_secret")
    for secret in (shop.secret.decode(), CLIENT["client_secret"]):
        expect_that(secret not in leads, "Location of the start contains a secret")


@FAMILY.judges("1/mode-own-keys", needs=["own-keys", "businesses"])
def a_business_logs_in_by_its_own_application(subject: Subject) -> None:
    """A business with its own keys starts a login with its own `client_id`."""
    shop = subject.shop()
    logins = {
        name: {**login, "client_id": "an-application-of-its-own"}
        for name, login in subject.world.logins().items()
        if login.get("key_source") == "own" and name == shop.social
    }
    if not logins:
        raise OtherLimit(f"{shop.social} does not use the business's own keys")
    own = subject.shop_with(socials=logins)
    sent = sent_to(start(subject, own, shop.social))

    expect(sent.get("client_key") or sent.get("client_id"), "an-application-of-its-own", "client_id")


@FAMILY.judges("D-05/state-key", "5.7/state")
def a_state_is_not_signed_with_the_businesss_secret(subject: Subject) -> None:
    """The state does not contain the business's secret and is not signed with that secret."""
    shop = subject.shop()
    state = str(sent_to(start(subject, shop)).get("state", ""))

    expect_that(shop.secret not in _readable(state), "The state contains the business's secret_key")
    for mark in SEPARATORS:
        signed, _, mac = state.rpartition(mark)
        made = hmac.digest(shop.secret, signed.encode(), "sha256")
        expect_that(mac not in {b64(made), made.hex()}, "The state is signed with the business's secret_key")


@FAMILY.judges("D-07/pkce")
def the_verifier_is_nowhere_that_a_browser_sees(subject: Subject) -> None:
    """The PKCE verifier is neither in the state nor in any header of the answer."""
    shop = subject.shop()
    if shop.social not in WITH_PKCE:
        raise OtherLimit(f"PKCE is not used with {shop.social}")
    answer = start(subject, shop)
    sent = sent_to(answer)
    seen = _readable(str(sent.get("state", ""))) + str(answer.headers).encode()

    for text in VERIFIER.findall(seen):
        challenge = b64(hashlib.sha256(text).digest())
        expect_that(challenge != sent.get("code_challenge"), "The start shows its code_verifier to the browser")


def _readable(state: str) -> bytes:
    """Return a state together with its base64url-decoded parts."""
    parts = re.findall(r"[A-Za-z0-9_-]{4,}", state)
    return b" ".join([state.encode(), *(urlsafe_b64decode(part[: len(part) & ~3]) for part in parts)])


@FAMILY.judges("D-20/forwarded", rows=["OAS-045"])
def whatever_host_is_claimed_the_redirect_uri_is_the_configured_one(subject: Subject) -> None:
    """Forwarding headers that name another host do not change `redirect_uri`."""
    shop = subject.shop()
    answer = subject.request(
        "GET",
        f"{shop.path}/oauth/{shop.social}",
        query={"origin": shop.origin},
        headers={"X-Forwarded-Host": "evil.test", "Forwarded": "host=evil.test"},
    )

    expect_that("evil.test" not in str(sent_to(answer)), "A forwarding header changes the redirect")


@FAMILY.judges("D-20/forwarded", rows=["OAS-045"])
def the_requests_host_is_not_where_a_login_comes_back_to(subject: Subject) -> None:
    """`redirect_uri` starts with the base address regardless of `Host`, but the service may refuse an unknown host."""
    shop = subject.shop()
    path, query = f"{shop.path}/oauth/{shop.social}", {"origin": shop.origin}
    answer = subject.request("GET", path, query=query, headers={"Host": "evil.test"})

    if answer.status == 302:
        expect_that("evil.test" not in str(sent_to(answer)), "The Host header changes the redirect")


@FAMILY.judges("D-03/provider-off", needs=["businesses"])
def a_business_that_is_off_starts_no_login(subject: Subject) -> None:
    """The start of a login is refused with 403 at a business that is switched off."""
    shop = subject.shop_with(enabled=False)
    start(subject, shop, subject.shop().social).page(403)


@FAMILY.judges("D-08/serialised", needs=["businesses"], rows=["OAS-030", "OAS-035"])
def a_loopback_name_is_allowed_with_http_and_no_other_name_is(subject: Subject) -> None:
    """A registered loopback name is accepted with http and https, and any other name only with https."""
    names = ("127.0.0.1:8801", "[::1]:8801", "localhost:8801")
    shop = subject.shop_with(domains=[*names, "shop.example", "www.shop.example:8443", "192.168.1.20:8801"])
    social = subject.shop().social
    allowed = [f"{scheme}://{name}" for name in names for scheme in ("http", "https")]
    for origin in (*allowed, "https://www.shop.example:8443", "https://192.168.1.20:8801"):
        expect(start(subject, shop, social, origin=origin).status, 302, f"The status for {origin}")
    others = ("127.1:8801", "0x7f.1:8801", "2130706433:8801", "[0:0:0:0:0:0:0:1]:8801", "localhost:8802")
    foreign = ("http://shop.example", "https://www.shop.example", "http://192.168.1.20:8801")
    for origin in (*foreign, *(f"http://{name}" for name in others)):
        start(subject, shop, social, origin=origin).page(403)


@FAMILY.judges("D-08/serialised", needs=["businesses"], rows=["OAS-027", "OAS-003"])
def a_domain_is_registered_as_browsers_write_it(subject: Subject) -> None:
    """A domain registered in capitals, with default port or with non-ASCII letters matches the browser's form."""
    shop = subject.shop_with(domains=["SHOP.Example:443", "b\u00fccher.example"])
    social = subject.shop().social
    for origin in ("https://shop.example", "https://xn--bcher-kva.example"):
        expect(start(subject, shop, social, origin=origin).status, 302, f"The status for {origin}")
    for origin in ("https://SHOP.Example:443", "https://b\u00fccher.example"):
        start(subject, shop, social, origin=origin).page(403)


@FAMILY.judges("D-03/methods", rows=["OAS-049"])
def head_of_a_start_is_answered_like_get(subject: Subject) -> None:
    """HEAD for the start of a login is answered with 302 without a body."""
    shop = subject.shop()
    answer = subject.request("HEAD", f"{shop.path}/oauth/{shop.social}", query={"origin": shop.origin})

    expect((answer.status, answer.body), (302, b""), "Status and body of HEAD")


@FAMILY.judges("D-03/methods", each=("start", "callback"))
def options_of_a_popups_page_says_what_is_allowed(subject: Subject, which: str) -> None:
    """OPTIONS for the start and for the callback is answered with 204 and `Allow`."""
    shop = subject.shop()
    places = {"start": f"{shop.path}/oauth/{shop.social}", "callback": f"/v1/public/oauth/{shop.social}/callback"}
    answer = subject.request("OPTIONS", places[which])

    expect(answer.status, 204, "The status of OPTIONS")
    expect_that({"get", "head"} <= set(answer.listed("allow")), f"Allow lacks GET or HEAD: {answer.header('allow')!r}")


@FAMILY.judges("D-03/methods", each=("POST", "DELETE"))
def another_method_of_a_start_is_405(subject: Subject, method: str) -> None:
    """Any other method at the start of a login is answered with 405."""
    shop = subject.shop()
    answer = subject.request(method, f"{shop.path}/oauth/{shop.social}", query={"origin": shop.origin})

    expect(answer.status, 405, f"The status of {method}")
    expect_that("GET" in answer.header("allow").upper(), f"Allow lacks GET: {answer.header('allow')!r}")
