"""Requirements for all public HTTP endpoints: methods, parameters, CORS, caching and error responses."""

from __future__ import annotations

import re
from typing import Any, Final

from chatkey_conform.capabilities import NotApplicable, socials
from chatkey_conform.case import Family
from chatkey_conform.data import misfit
from chatkey_conform.judging.verdict import Broken, OtherLimit, expect, expect_that
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.shop import Shop, path_of
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import REMOVED, BrowserKey, merged

FAMILY = Family("http", "HTTP", "protocol.md#endpoints")

CONFIGURATION, VISITOR, MEMBER = "configuration", "visitor token", "member token"
ENDPOINTS: Final = (CONFIGURATION, VISITOR, MEMBER)
MOST_QUERY: Final = 60_000
"""The longest query that is tried, so that the request still fits common limits on request lines and headers."""


def target_of(shop: Shop, endpoint: str) -> tuple[str, dict[str, str]]:
    """Return the path and query of a valid request."""
    if endpoint == CONFIGURATION:
        return shop.path, {}
    if endpoint == VISITOR:
        return f"{shop.path}/token", {"uid": shop.key.uid}
    return f"{shop.path}/member/token", {"auth": shop.identity_token(), "jkt": shop.key.jkt}


def ask(subject: Subject, endpoint: str, method: str = "GET", **headers: str) -> Answer:
    """Send a valid request."""
    path, query = target_of(subject.shop(), endpoint)
    return subject.request(method, path, query=query, headers=headers)


# methods


@FAMILY.judges("D-03/methods", each=ENDPOINTS, rows=["HTP-001"])
def head_is_get_without_a_body(subject: Subject, endpoint: str) -> None:
    """HEAD is answered like GET, without a body."""
    answer = ask(subject, endpoint, "HEAD")

    expect((answer.status, answer.body), (200, b""), "Status and body of HEAD")


@FAMILY.judges("D-03/methods", "D-03/provider-unknown", each=ENDPOINTS)
def head_of_what_is_refused_is_refused(subject: Subject, endpoint: str) -> None:
    """HEAD for an unknown business is answered with 404 without a body."""
    shop = subject.shop()
    path, query = target_of(shop, endpoint)
    answer = subject.request("HEAD", path_of("nobody-has-this-id") + path.removeprefix(shop.path), query=query)

    expect((answer.status, answer.body), (404, b""), "Status and body of HEAD")


@FAMILY.judges(
    "D-03/methods",
    each=[
        f"{endpoint}, {method}" for endpoint in ENDPOINTS for method in ("POST", "PUT", "PATCH", "DELETE", "PROPFIND")
    ],
    rows=["HTP-003"],
)
def another_method_is_405_and_allow_says_which(subject: Subject, given: str) -> None:
    """Any other method is answered with 405 and `Allow`."""
    endpoint, _, method = given.partition(", ")
    answer = ask(subject, endpoint, method)

    answer.refused(405, "method_not_allowed")
    allowed = _listed(answer, "allow")
    expect_that({"GET", "HEAD"} <= allowed, f"Allow lacks GET or HEAD: {answer.header('allow')!r}")
    expect_that(method not in allowed, f"Allow contains {method}, which was refused")


@FAMILY.judges("D-03/methods", each=ENDPOINTS)
def options_is_204_with_allow_and_what_pages_may(subject: Subject, endpoint: str) -> None:
    """OPTIONS is answered with 204 and `Allow`, and allows a preflight from any origin."""
    answer = ask(
        subject, endpoint, "OPTIONS", **{"Origin": "https://a.example", "Access-Control-Request-Method": "GET"}
    )

    expect(answer.status, 204, "The status of OPTIONS")
    expect_that({"GET", "HEAD"} <= _listed(answer, "allow"), f"Allow lacks GET or HEAD: {answer.header('allow')!r}")
    expect(answer.header("access-control-allow-origin"), "*", "Access-Control-Allow-Origin of a preflight")
    methods = _listed(answer, "access-control-allow-methods")
    expect_that("GET" in methods, "Access-Control-Allow-Methods lacks GET")
    expect(answer.header("access-control-allow-headers"), "*", "Access-Control-Allow-Headers of a preflight")
    expect(answer.header("access-control-max-age"), "86400", "Access-Control-Max-Age of a preflight")


def _listed(answer: Answer, name: str) -> set[str]:
    return {part.strip().upper() for part in answer.header(name).split(",")}


@FAMILY.judges("D-03/methods", each=("X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"), rows=["HTP-006"])
def a_method_cannot_be_overridden(subject: Subject, name: str) -> None:
    """A header or a parameter cannot override the method."""
    path, _ = target_of(subject.shop(), CONFIGURATION)
    subject.request("POST", path, headers={name: "GET"}).refused(405, "method_not_allowed")
    subject.request("POST", path, query="_method=GET").refused(405, "method_not_allowed")
    subject.request("GET", path, query="_method=DELETE", headers={name: "DELETE"}).data()


@FAMILY.judges("4/paths", page="protocol.md#endpoints")
def a_plain_get_of_the_socket_is_426(subject: Subject) -> None:
    """A GET of the socket's address without an upgrade is answered with 426 and `Upgrade: websocket`."""
    base, uri = subject.world.target.local_url, subject.world.socket_address
    scheme = "https" if uri.startswith("wss") else "http"
    address = f"{scheme}://{uri.partition('://')[2]}"
    if not address.startswith(base):
        raise OtherLimit("the socket's address is not below target.local_url")
    answer = subject.get(address.removeprefix(base))

    answer.denied(426)
    expect(answer.header("upgrade").lower(), "websocket", "Upgrade of a plain GET of the socket")


# what the service reads


@FAMILY.judges(
    "D-20/negotiation",
    "1/data",
    each=[
        f"{endpoint}, {accept}"
        for endpoint in ENDPOINTS
        for accept in ("text/html", "application/xml", "*/*;q=0", "nonsense")
    ],
    rows=["HTP-025"],
)
def an_answer_is_json_whatever_is_accepted(subject: Subject, given: str) -> None:
    """A success response is JSON with `data`, regardless of `Accept`."""
    endpoint, _, accept = given.partition(", ")
    answer = ask(subject, endpoint, Accept=accept)

    answer.data()


@FAMILY.judges("5.1/no-credentials", each=ENDPOINTS)
def cookies_and_authorization_are_not_read_nor_set(subject: Subject, endpoint: str) -> None:
    """Cookies and the Authorization header are ignored, and no cookie is set."""
    answer = ask(subject, endpoint, Cookie="session=x; auth=y", Authorization="Bearer x")

    answer.data()
    expect_that("set-cookie" not in answer.headers, "A public endpoint sets a cookie")


@FAMILY.judges("1/data", "2.6/answer", "2.2/members", each=ENDPOINTS, rows=["HTP-036"])
def a_success_fits_its_schema(subject: Subject, endpoint: str) -> None:
    """A success response matches the published schema."""
    answer = ask(subject, endpoint)

    answer.data()
    why = misfit("configuration" if endpoint == CONFIGURATION else "token-answer", answer.json())
    expect_that(not why, f"The answer {why}")


@FAMILY.judges("D-03/provider-unknown", each=ENDPOINTS, rows=["HTP-038"])
def an_unknown_business_is_404(subject: Subject, endpoint: str) -> None:
    """An unknown business is answered with 404 `provider_unknown`."""
    shop = subject.shop()
    path, query = target_of(shop, endpoint)
    for name in ("nobody-has-this-id", "a.b"):
        answer = subject.request("GET", path_of(name) + path.removeprefix(shop.path), query=query)
        answer.refused(404, "provider_unknown")


@FAMILY.judges("D-03/provider-off", each=ENDPOINTS)
def a_business_that_is_off_is_403(subject: Subject, endpoint: str) -> None:
    """A business that is switched off is answered with 403 `provider_off`, even if parameters are missing."""
    shop = subject.shop_with(enabled=False)
    path, _ = target_of(shop, endpoint)

    subject.request("GET", path).refused(403, "provider_off")


@FAMILY.judges(
    "D-03/parameter-400",
    "7/missing-400",
    rows=["JWT-157"],
    each={
        "nothing": ({"auth": REMOVED, "jkt": REMOVED}, "parameter_missing"),
        "no-auth": ({"auth": REMOVED}, "parameter_missing"),
        "no-jkt": ({"jkt": REMOVED}, "parameter_missing"),
        "empty-auth": ({"auth": ""}, "parameter_missing"),
        "empty-jkt": ({"jkt": ""}, "parameter_missing"),
        "bad-auth-and-no-jkt": ({"auth": "x", "jkt": REMOVED}, "parameter_missing"),
        "no-auth-and-malformed-jkt": ({"auth": REMOVED, "jkt": "y"}, "parameter_missing"),
        "bad-auth-and-malformed-jkt": ({"auth": "x", "jkt": "y"}, "parameter_invalid"),
    },
)
def parameters_of_the_exchange_come_before_the_token(subject: Subject, changes: Any, code: str) -> None:
    """A missing `auth` or `jkt` and a malformed `jkt` are answered with 400, even if `auth` is invalid."""
    path, query = target_of(subject.shop(), MEMBER)

    subject.request("GET", path, query=merged(query, changes)).refused(400, code)


@FAMILY.judges("D-03/parameter-400", rows=["HTP-018"], each=("auth", "jkt"))
def a_repeated_parameter_of_the_exchange_is_400(subject: Subject, name: str) -> None:
    """A repeated `auth` or `jkt` is answered with 400 `parameter_repeated`."""
    path, query = target_of(subject.shop(), MEMBER)
    text = f"auth={query['auth']}&jkt={query['jkt']}&{name}={query[name]}"

    subject.request("GET", path, query=text).refused(400, "parameter_repeated")


@FAMILY.judges(
    "D-03/parameter-400",
    each={
        "HTP-016": ("", "parameter_missing"),
        "HTP-016-empty": ("uid=", "parameter_missing"),
        "HTP-018": ("uid={uid}&uid={uid}", "parameter_repeated"),
        "HTP-018-encoded": ("uid={uid}&u%69d={uid}", "parameter_repeated"),
        "HTP-019-brackets": ("uid[]={uid}", "parameter_missing"),
        "HTP-019-semicolon": ("uid={uid};uid={uid}", "parameter_invalid"),
        "HTP-019-case": ("UID={uid}", "parameter_missing"),
        "HTP-019-encoded-ampersand": ("uid={uid}%26auth%3Db", "parameter_invalid"),
        "HTP-020-not-derived": ("uid=customer-7", "parameter_invalid"),
        "HTP-020-no-prefix": ("uid={jkt}", "parameter_invalid"),
        "HTP-020-case": ("uid=V_{jkt}", "parameter_invalid"),
        "HTP-020-too-long": ("uid={uid}A", "parameter_invalid"),
        "HTP-020-newline": ("uid={uid}%0A", "parameter_invalid"),
        "HTP-020-not-canonical": ("uid={loose}", "parameter_invalid"),
        "HTP-020-social": ("uid=v_google%3A42", "parameter_invalid"),
    },
)
def a_visitor_token_is_for_one_well_formed_uid(subject: Subject, query: str, code: str) -> None:
    """The visitor token endpoint requires exactly one well-formed `uid`."""
    shop = subject.shop()
    text = query.format(uid=shop.key.uid, jkt=shop.key.jkt, loose=f"v_{'A' * 42}B")

    subject.request("GET", f"{shop.path}/token", query=text).refused(400, code)


@FAMILY.judges("D-03/parameter-400", each=ENDPOINTS, rows=["HTP-044"])
def a_parameter_that_is_not_read_may_come_as_often_as_it_likes(subject: Subject, endpoint: str) -> None:
    """Unknown parameters are ignored, even if they are repeated."""
    path, query = target_of(subject.shop(), endpoint)
    text = "&".join([*(f"{name}={value}" for name, value in query.items()), "t=1&t=2&callback=alert&jsonp=alert"])
    answer = subject.request("GET", path, query=text)

    answer.data()
    expect_that(
        answer.body.lstrip().startswith(b"{") and b"alert" not in answer.body,
        "The parameter `callback` changes the answer",
    )


MOST_PARAMETERS: Final = 32


@FAMILY.judges("D-03/parameter-400", "D-20/limits", each=ENDPOINTS, page="limits.md#fixed-limits")
def a_query_has_32_parameters_and_no_more(subject: Subject, endpoint: str) -> None:
    """A query may have 32 parameters, including unknown ones. Except for the configuration, one more is refused."""
    path, query = target_of(subject.shop(), endpoint)

    def asked(number: int) -> Answer:
        more = {f"x{at}": "1" for at in range(number - len(query))}
        return subject.request("GET", path, query={**query, **more})

    asked(MOST_PARAMETERS).data()
    beyond = asked(MOST_PARAMETERS + 1)
    if endpoint == CONFIGURATION:
        beyond.data()
    else:
        beyond.refused(400, "parameter_invalid")


@FAMILY.judges("D-20/limits", "D-03/parameter-400", page="limits.md#limits")
def a_query_has_so_many_bytes_and_no_more(subject: Subject) -> None:
    """A query at the size limit is accepted, and one more byte is answered with 400."""
    path, query = target_of(subject.shop(), VISITOR)
    given = f"uid={query['uid']}&t="
    most = subject.limits.query_bytes
    if not len(given) < most <= MOST_QUERY:
        raise OtherLimit(f"not tested with query_bytes = {most}")

    subject.request("GET", path, query=given.ljust(most, "1")).data()
    subject.request("GET", path, query=given.ljust(most + 1, "1")).refused(400, "parameter_invalid")


@FAMILY.judges("4.3/verifies", each=("header", "cookie", "body"), rows=["JWT-160"])
def an_identity_token_is_read_from_the_query_and_nowhere_else(subject: Subject, place: str) -> None:
    """`auth` in a header, a cookie or a body is ignored."""
    shop = subject.shop()
    auth = shop.identity_token()
    headers = {
        "header": {"Authorization": f"Bearer {auth}"},
        "cookie": {"Cookie": f"auth={auth}"},
        "body": {"Content-Type": "application/x-www-form-urlencoded"},
    }[place]
    content = f"auth={auth}".encode() if place == "body" else None
    path, query = f"{shop.path}/member/token", {"jkt": shop.key.jkt}
    answer = subject.request("GET", path, query=query, headers=headers, content=content)

    answer.refused(400, "parameter_missing")


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
