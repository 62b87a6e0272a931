"""Builds the requests of a run: the request of a correct page, and variations of that request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict
from urllib.parse import urlsplit

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Header, Request
from chatkey_check.shape import FORM, JSON
from chatkey_check.target import Target

PLAIN: Final = (("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate"), ("User-Agent", "chatkey-check"))
FORM_TYPE: Final = (("Content-Type", FORM),)
WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Variation(TypedDict, total=False):
    """How a call differs from the normal call. The normal call is the one that a correct page makes.

    If `raw` is given, it is the body. Otherwise the body has the configured format, with `jkt` (by default a new one)
    and the members of `more`. `query` is added to the address. `headers` replace headers of the same name. `cookies`
    replace the session's cookies. The session then ignores the cookies that the answer sets, unless its cookies change
    with each answer. No other call is in progress during a `measured` call.
    """

    jkt: object
    more: Mapping[str, object]
    raw: bytes
    method: str
    query: Sequence[tuple[str, str]]
    headers: Iterable[Header]
    cookies: Mapping[str, str]
    content_type: str | None
    measured: bool


def varied(target: Target, label: str, session: Session, jkt: object, how: Variation) -> Request:
    """Return a call to the endpoint with this jkt."""
    shape, method = target.shape, how.get("method", target.shape.method)
    body = b"" if method in WITHOUT_BODY else how["raw"] if "raw" in how else shape.content(jkt, how.get("more", {}))
    own = session.with_cookies(how["cookies"]) if "cookies" in how else session
    content_type = how.get("content_type", shape.content_type or JSON)
    page = (
        *PLAIN,
        ("Origin", target.page),
        ("Referer", f"{target.page}/"),
        ("Sec-Fetch-Site", "same-origin"),
        ("Sec-Fetch-Mode", "cors"),
        ("Sec-Fetch-Dest", "empty"),
        *([("Content-Type", content_type)] if content_type and body else []),
    )
    sent = _replaced([*_replaced(page, _added(target, session)), *own.headers], how.get("headers", ()))
    url = shape.address(target.url, jkt, tuple(how.get("query", ())))
    return Request(label, method, url, tuple(sent), body, jkt if isinstance(jkt, str) else "", shape.token_at)


def plain(
    target: Target, label: str, url: str, session: Session | None, *, form: bytes | None, headers: Sequence[Header]
) -> Request:
    """Return a GET request to another address. With `form`, return a POST request of that form with its headers."""
    given: Sequence[Header] = PLAIN
    if form is not None and session is not None:
        given = _replaced([*given, ("Origin", target.page)], headers)
        given = _replaced(given, _added(target, session) if is_ours(target, url) else ())
    own = session.headers_for(url, ours=is_ours(target, url)) if session else ()
    return Request(label, "GET" if form is None else "POST", url, (*given, *own), form or b"")


def is_ours(target: Target, url: str) -> bool:
    """Return whether an address is on one of the site's hosts, to which the session may be sent."""
    return urlsplit(url).hostname in {urlsplit(target.url).hostname, urlsplit(target.page).hostname}


def _added(target: Target, session: Session) -> list[Header]:
    """Return the headers from --header, with their placeholders filled in. Headers with an empty value are left out."""
    return [(name, value) for name, text in target.headers if (value := session.filled(text))]


def _replaced(headers: Iterable[Header], by: Iterable[Header]) -> list[Header]:
    """Return `headers` and `by` together. A header in `by` replaces the headers of the same name."""
    by = tuple(by)
    names = {name.lower() for name, _ in by}
    return [*(header for header in headers if header[0].lower() not in names), *by]
