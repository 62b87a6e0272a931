"""Requirements for the answers of all public HTTP endpoints: headers, caching and the configuration."""

from __future__ import annotations

import re
from typing import Any, Final

from chatkey_conform.capabilities import NotApplicable, socials
from chatkey_conform.judging.verdict import Broken, expect, expect_that
from chatkey_conform.subject.shop import path_of
from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite import http_endpoints
from chatkey_conform.suite.http_endpoints import CONFIGURATION, ENDPOINTS, MEMBER, VISITOR, ask, target_of
from chatkey_peer.key import BrowserKey

FAMILY = http_endpoints.FAMILY

# headers


@FAMILY.judges("D-02/no-store", each=(VISITOR, MEMBER), rows=["HTP-032"])
def a_token_is_not_stored(subject: Subject, endpoint: str) -> None:
    """An answer with a token has `Cache-Control: no-store`."""
    answer = ask(subject, endpoint)

    answer.data()
    expect_that(
        "no-store" in answer.header("cache-control").lower(), "Cache-Control of an answer with a token lacks no-store"
    )


@FAMILY.judges("D-20/negotiation", each=(VISITOR, MEMBER), rows=["HTP-026"])
def what_holds_a_token_is_never_compressed(subject: Subject, endpoint: str) -> None:
    """An answer with a token is not compressed."""
    answer = ask(subject, endpoint, **{"Accept-Encoding": "gzip, deflate, br"})

    expect(answer.header("content-encoding") or "identity", "identity", "Content-Encoding of an answer with a token")


@FAMILY.judges("5.1/no-credentials", each=ENDPOINTS, rows=["HTP-029", "HTP-030"])
def any_page_may_ask_and_none_with_credentials(subject: Subject, endpoint: str) -> None:
    """A page of any origin may read the answer, but not with credentials."""
    path, query = target_of(subject.shop(), endpoint)
    for sent, status in ((query, 200), ({"jkt": "x"}, 200 if endpoint == CONFIGURATION else 400)):
        answer = subject.request("GET", path, query=sent, headers={"Origin": "https://evil.example"})
        expect(answer.status, status, f"The status of {endpoint}")
        expect(answer.header("access-control-allow-origin"), "*", f"Access-Control-Allow-Origin of a {status}")
        expect_that(
            "access-control-allow-credentials" not in answer.headers, "The answer has Access-Control-Allow-Credentials"
        )


@FAMILY.judges("5.1/no-credentials", "D-02/envelope", each=ENDPOINTS, rows=["HTP-029"])
def any_page_may_read_a_failure(subject: Subject, endpoint: str) -> None:
    """A page of any origin may read an error response."""
    shop = subject.shop()
    path, query = target_of(shop, endpoint)
    unknown = path_of("nobody-has-this-id") + path.removeprefix(shop.path)
    for method, asked, given in (("GET", unknown, query), ("POST", path, query), ("GET", path, {**query, "auth": "x"})):
        answer = subject.request(method, asked, query=given, headers={"Origin": "https://a.example"})
        expect(answer.header("access-control-allow-origin"), "*", f"Access-Control-Allow-Origin of {answer.status}")


@FAMILY.judges("D-02/configuration-caching", "5.1/no-credentials")
def any_page_may_read_that_nothing_changed(subject: Subject) -> None:
    """A 304 response also has `Access-Control-Allow-Origin`."""
    path = subject.shop().path
    headers = {"Origin": "https://a.example", "If-None-Match": "*"}
    answer = subject.request("GET", path, headers=headers)

    expect(answer.header("access-control-allow-origin"), "*", f"Access-Control-Allow-Origin of {answer.status}")


@FAMILY.judges("D-02/no-secret-in-errors", each=("forged", "malformed", "another-keys"))
def a_failure_repeats_no_token(subject: Subject, what: str) -> None:
    """The refusal of a token contains no part of the token and no secret."""
    shop = subject.shop()
    token = shop.sign(shop.identity_claims(), key=b"k" * 40 if what == "forged" else None)
    answer = shop.exchange(f"{token}." if what == "malformed" else token, BrowserKey().jkt)

    expect(answer.status, 401, f"The status of {answer.asked}")
    told = answer.text + str(answer.headers)
    for part in (*token.split("."), shop.secret.decode()):
        expect_that(part not in told, "The refusal contains a part of the token, or a secret")


@FAMILY.judges("D-02/envelope", each=ENDPOINTS, rows=["HTP-039"])
def every_answer_is_kept_to_its_type_and_tells_no_referrer(subject: Subject, endpoint: str) -> None:
    """Every answer, including errors, has `nosniff` and `no-referrer`."""
    shop = subject.shop()
    path, query = target_of(shop, endpoint)
    for method, asked in (
        ("GET", path),
        ("GET", path_of("nobody-has-this-id") + path.removeprefix(shop.path)),
        ("DELETE", path),
    ):
        answer = subject.request(method, asked, query=query)
        expect(set(answer.listed("x-content-type-options")), {"nosniff"}, f"X-Content-Type-Options of {answer.status}")
        expect(answer.listed("referrer-policy")[-1], "no-referrer", f"Referrer-Policy of {answer.status}")


# the configuration


@FAMILY.judges("D-02/configuration-caching", "4.1/edge-cache", "8/edge-60", rows=["HTP-031"])
def the_configuration_is_kept_at_the_edge_for_60_seconds(subject: Subject) -> None:
    """The configuration is cached with `public, max-age=0, s-maxage=60`."""
    said = ask(subject, CONFIGURATION).header("cache-control").lower()

    expect({part.strip() for part in said.split(",")}, {"public", "max-age=0", "s-maxage=60"}, "Cache-Control")


@FAMILY.judges("D-02/configuration-caching", rows=["HTP-034"])
def the_configuration_is_revalidated(subject: Subject) -> None:
    """`If-None-Match` is answered with 304 for `*` and the ETag, weak or strong, and with 200 for another ETag."""
    path = subject.shop().path
    etag = subject.get(path).header("etag")
    expect_that(etag.startswith('"'), f"ETag is {etag!r}, expected a strong one")
    for tag in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        answer = subject.request("GET", path, headers={"If-None-Match": tag})
        expect((answer.status, answer.body), (304, b""), f"Status and body with If-None-Match: {tag}")
        expect(answer.header("etag"), etag, "ETag of a 304")
        expect_that("s-maxage=60" in answer.listed("cache-control"), "Cache-Control of a 304 lacks s-maxage=60")
    expect(
        subject.request("GET", path, headers={"If-None-Match": '"other"'}).status, 200, "The status for another ETag"
    )


TOKEN: Final = re.compile(r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}")
SECRET_NAMES: Final = frozenset({"secret_key", "client_secret", "client_id", "p8", "key_id", "team_id", "auth_token"})


@FAMILY.judges("2.1/secret-stays", "4.1/no-token", rows=["HTP-033"])
def the_configuration_holds_nothing_secret(subject: Subject) -> None:
    """The configuration contains no secret and no token."""
    shop = subject.shop()
    answer = subject.get(shop.path)

    found = sorted(_names(answer.json()) & SECRET_NAMES)
    expect_that(not found, f"The configuration contains secret members: {found}")
    told = answer.text + str(answer.headers)
    if TOKEN.search(told) or any(secret in told for secret in (shop.secret.decode(), "shop-client-secret")):
        raise Broken("The configuration contains a secret or a token")


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return value.keys() | {name for part in value.values() for name in _names(part)}
    return {name for part in value for name in _names(part)} if isinstance(value, list) else set()


@FAMILY.judges("2.2/oauth-providers", "4.1/content")
def the_configuration_lists_the_enabled_social_providers(subject: Subject) -> None:
    """`auth.oauth_providers` lists the social logins that the business enabled."""
    shop = subject.shop()
    listed = subject.get(shop.path).data().get("auth", {}).get("oauth_providers")
    wanted = set(socials(f"social:{name}" for name in shop.business.socials))

    expect(set(listed) if isinstance(listed, list) else listed, wanted, "auth.oauth_providers")


@FAMILY.judges("2.2/oauth-providers", "4.4/enabled-only", needs=["businesses"])
def a_social_login_that_is_off_is_not_listed(subject: Subject) -> None:
    """A social login that the business has switched off is not in `auth.oauth_providers`."""
    logins = subject.world.logins()
    if len(logins) < 2:
        raise NotApplicable("social:github" if "google" in logins else "social:google")
    off = min(logins)
    shop = subject.shop_with(socials={**logins, off: {**logins[off], "enabled": False}})
    listed = subject.get(shop.path).data().get("auth", {}).get("oauth_providers")

    expect(set(listed) if isinstance(listed, list) else listed, logins.keys() - {off}, "auth.oauth_providers")


@FAMILY.judges("4.1/content", "5.6/wss")
def the_sockets_address_is_the_same_everywhere(subject: Subject) -> None:
    """`socket_uri` is the same in a token answer and in the configuration, and uses `wss` if the service uses https."""
    shop = subject.shop()
    uri = subject.get(shop.path).data().get("socket_uri")
    told = subject.get(f"{shop.path}/token", uid=shop.key.uid).data().get("socket_uri")

    expect(told, uri, "socket_uri of the visitor token")
    if subject.world.target.base_url.startswith("https:"):
        expect(str(uri).partition(":")[0], "wss", "The scheme of socket_uri")


@FAMILY.judges(
    "D-20/forwarded",
    rows=["HTP-040", "HTP-041"],
    each={
        "x-forwarded": ({"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"},),
        "forwarded": ({"Forwarded": "for=192.0.2.1;host=evil.example;proto=http"},),
        "rewritten": ({"X-Original-URL": "/v1/public/nowhere", "X-Rewrite-URL": "/v1/public/nowhere"},),
    },
)
def no_header_changes_an_address_that_is_handed_out(subject: Subject, headers: dict[str, str]) -> None:
    """Forwarding headers from the caller do not change `socket_uri`."""
    path = subject.shop().path
    uri = subject.request("GET", path, headers=headers).data().get("socket_uri")

    expect(uri, subject.world.socket_uri, "socket_uri")


@FAMILY.judges("D-20/forwarded", rows=["HTP-040"])
def the_requests_host_changes_no_address_that_is_handed_out(subject: Subject) -> None:
    """The `Host` header does not change `socket_uri`, but the service may refuse an unknown host."""
    answer = subject.request("GET", subject.shop().path, headers={"Host": "evil.example"})

    if answer.status == 200:
        expect(answer.data().get("socket_uri"), subject.world.socket_uri, "socket_uri with another Host header")


@FAMILY.judges(
    "4.1/edge-cache",
    "D-02/settings-cache",
    "D-02/configuration-caching",
    alone=True,
    needs=["businesses", "change", "clock"],
    rows=["HTP-035"],
)
def a_change_is_seen_after_60_seconds(subject: Subject) -> None:
    """A changed business appears in the configuration within a minute, also for requests with the old ETag."""
    shop = subject.shop_with(livechat_title="First")
    before = subject.get(shop.path)
    subject.change(shop, livechat_title="Later")
    after = subject.get(shop.path)
    again = subject.request("GET", shop.path, headers={"If-None-Match": before.header("etag")})

    titles = [answer.data().get("livechat", {}).get("title") for answer in (before, after)]
    expect(titles, ["First", "Later"], "livechat.title before and after the change")
    expect(again.status, 200, "The status for the ETag from before the change")


@FAMILY.judges("1/modes-optional", "2.1/socials", needs=["businesses"])
def a_business_without_social_logins_lists_none(subject: Subject) -> None:
    """A business without social logins has an empty `auth.oauth_providers`."""
    shop = subject.shop_with(socials={})
    listed = subject.get(shop.path).data().get("auth", {}).get("oauth_providers")

    expect(listed, [], "auth.oauth_providers")
