"""Logs a person in as the site's own page does: by its form, or by JSON where there is none."""

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
"""Fields that say who it is; what stands in the others may be a password, however it was given."""
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
OTHER_FORM: Final = frozenset({400, 405, 406, 415, 422})
"""Statuses that say: not like this."""


class LoginError(Exception):
    """Nobody was logged in; `about` is the answer that shows it."""

    def __init__(self, message: str, about: Exchange) -> None:
        super().__init__(message)
        self.about = about


class _Way(NamedTuple):
    """One way to send the fields."""

    url: str
    content_type: str
    body: bytes


def log_in(caller: Caller, session: Session, login: Login, jkt: str = "") -> bool:
    """Open the login page, and send the fields as it would; as JSON where that is refused. Raises `LoginError`.

    Whether that worked is seen from a token call, with `jkt` where one is given: a cookie may have been there before,
    or be set in vain. Returns whether the page had a form for the fields.
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
    """Send the fields in one way, and return what is wrong with what came of it, or nothing."""
    before = dict(session.cookies)
    label = f"{session.name}: the form, filled in"
    how = (("Content-Type", way.content_type), *headers)
    sent = caller.fetch(label, way.url, session, method="POST", body=way.body, headers=how)
    if not sent.status or sent.status >= 400:
        return LoginError(f"the login form answered {sent.status or sent.broken}", sent)
    landed = _followed(caller, session, sent)
    answer = caller.ask(f"{session.name}: a call, to see whether it worked", session, jkt=jkt or caller.new_jkt())
    if answer.minted or holds_token(answer.text):
        return None
    if any(form.has_password for form in Forms(landed.text).found):
        return LoginError("the login form comes again: a field or the password is wrong", sent)
    if session.cookies == before:
        return LoginError("the login form set no cookie, and the endpoint knows nobody", sent)
    return None  # what the endpoint makes of it is another question


def _followed(caller: Caller, session: Session, done: Exchange) -> Exchange:
    """Return where redirects on the same origin lead."""
    here = origin(done.request.url)
    for _ in range(MOST_HOPS):
        if not done.redirected or origin(done.location) != here:
            break
        done = caller.fetch(f"{session.name}: where it leads", done.location, session)
    return done


def _csrf(page: Exchange, session: Session) -> tuple[Header, ...]:
    """Return the headers that a page's scripts send against forgery: from a meta element, and from a cookie."""
    meta = Forms(page.text).csrf if page.succeeded else ""
    cookie = unquote(session.cookies.get("XSRF-TOKEN", ""))
    named = (("X-CSRF-Token", meta), ("X-XSRF-TOKEN", cookie))
    return tuple((name, value) for name, value in named if value)
