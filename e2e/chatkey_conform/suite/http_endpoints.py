"""Requirements for all public HTTP endpoints: methods, parameters and refusals."""

from __future__ import annotations

from typing import Any, Final

from chatkey_conform.case import Family
from chatkey_conform.data import misfit
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.shop import Shop, path_of
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import REMOVED, merged

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
