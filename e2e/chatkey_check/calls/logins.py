"""Logs a person in as the site's own page does: with the page's form, or with JSON if the form does not work."""

from __future__ import annotations

import json
import re
from typing import Final, NamedTuple
from urllib.parse import unquote, urlencode, urljoin

from chatkey_check.calls.caller import Caller
from chatkey_check.calls.forms import Forms
from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange, Header, origin
from chatkey_check.reading import holds_token
from chatkey_check.target import Login

MOST_HOPS: Final = 5
NAMES_SOMEBODY: Final = re.compile(r"user|login|mail|name|account|phone", re.IGNORECASE)
"""Fields that identify the person. The values of all other fields are masked, because they may be passwords."""
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
OTHER_FORM: Final = frozenset({400, 405, 406, 415, 422})
"""Statuses that mean: send the fields in another format."""


class LoginError(Exception):
    """The login failed. `about` is the exchange that shows the failure."""

    def __init__(self, message: str, about: Exchange) -> None:
        super().__init__(message)
        self.about = about


class _Way(NamedTuple):
    """One way to send the fields."""

    url: str
    content_type: str
    body: bytes


def log_in(caller: Caller, session: Session, login: Login, jkt: str = "") -> bool:
    """Open the login page and send the fields as the page's form would, or as JSON if the form is refused.

    Raises `LoginError`. If `jkt` is given, a token call with this `jkt` shows whether the login worked. A cookie alone
    does not show this, because the cookie may be older or may not belong to a login. Returns whether the page had a
    form for the fields.
    """
    caller.masks.add(*login.passwords)
    caller.masks.add(*(urlencode([pair]) for pair in login.fields if not NAMES_SOMEBODY.search(pair[0])))
    page = _followed(caller, session, caller.fetch(f"{session.name}: the form", login.url, session))
    form = Forms(page.text).wanted(login.fields) if page.succeeded else None
    action = urljoin(page.request.url, form.action) if form else login.url
    filled = form.filled(login.fields) if form else dict(login.fields)
    headers = _csrf(page, session)
    trouble = _tried(caller, session, _Way(action, FORM, urlencode(filled).encode()), headers, jkt)
    if trouble is None:
        return form is not None
    if form is None or trouble.about.status in OTHER_FORM:
        by_json = _Way(action, JSON, json.dumps(dict(login.fields)).encode())
        if _tried(caller, session, by_json, headers, jkt) is None:
            return form is not None
    raise trouble


def _tried(caller: Caller, session: Session, way: _Way, headers: tuple[Header, ...], jkt: str) -> LoginError | None:
    """Send the fields in one way. Return the error, or None if the login worked."""
    before = dict(session.cookies)
    label = f"{session.name}: the filled-in form"
    how = (("Content-Type", way.content_type), *headers)
    sent = caller.fetch(label, way.url, session, form=way.body, headers=how)
    if not sent.status or sent.status >= 400:
        return LoginError(f"the login form failed ({sent.result})", sent)
    landed = _followed(caller, session, sent)
    answer = caller.ask(
        f"{session.name}: a call that shows whether the login worked", session, jkt=jkt or caller.new_jkt()
    )
    if answer.minted or holds_token(answer.text):
        return None
    if any(form.has_password for form in Forms(landed.text).found):
        return LoginError("the login form appears again: a field or the password is wrong", sent)
    if session.cookies == before:
        return LoginError("the login form set no cookie, and the endpoint returns no token", sent)
    return None  # the checks judge what the endpoint answers


def _followed(caller: Caller, session: Session, done: Exchange) -> Exchange:
    """Follow redirects on the same origin, and return the last exchange."""
    here = origin(done.request.url)
    for _ in range(MOST_HOPS):
        if not done.redirected or origin(done.location) != here:
            break
        done = caller.fetch(f"{session.name}: the redirect after the form", done.location, session)
    return done


def _csrf(page: Exchange, session: Session) -> tuple[Header, ...]:
    """Return the anti-forgery (CSRF) headers that the page's scripts would send, from a meta element and a cookie."""
    meta = Forms(page.text).csrf if page.succeeded else ""
    cookie = unquote(session.cookies.get("XSRF-TOKEN", ""))
    named = (("X-CSRF-Token", meta), ("X-XSRF-TOKEN", cookie))
    return tuple((name, value) for name, value in named if value)
