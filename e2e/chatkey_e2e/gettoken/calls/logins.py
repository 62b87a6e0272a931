"""Logs a person in by the site's own form."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from chatkey_e2e.gettoken.calls.caller import Caller
from chatkey_e2e.gettoken.calls.sessions import HiddenInputs, Session
from chatkey_e2e.gettoken.exchange import Exchange, origin
from chatkey_e2e.gettoken.target import Login

MOST_HOPS: Final = 5
NAMES_SOMEBODY: Final = re.compile(r"user|login|mail|name|account|phone", re.IGNORECASE)
"""Fields that say who it is; what stands in the others may be a password, however it was given."""


class LoginError(Exception):
    """The form did not log anybody in; `about` is the answer that shows it."""

    def __init__(self, message: str, about: Exchange) -> None:
        super().__init__(message)
        self.about = about


def log_in(caller: Caller, session: Session, login: Login) -> None:
    """Open the form, fill it in with its hidden inputs, and send it. Raises `LoginError`."""
    caller.masks.add(*login.passwords)
    caller.masks.add(*(urlencode([pair]) for pair in login.fields if not NAMES_SOMEBODY.search(pair[0])))
    page = caller.fetch(f"{session.name}: the form", login.url, session)
    fields = {**_hidden(page), **dict(login.fields)}
    before = dict(session.cookies)
    label = f"{session.name}: the form, filled in"
    done = caller.fetch(label, login.url, session, method="POST", body=urlencode(fields).encode())
    sent = done
    for _ in range(MOST_HOPS):
        if not done.redirected or origin(done.location) != origin(login.url):
            break
        done = caller.fetch(f"{session.name}: where it leads", done.location, session)
    if not sent.status or sent.status >= 400:
        raise LoginError(f"the login form answered {sent.status or sent.broken}", sent)
    if session.cookies == before:
        raise LoginError("the login form set no cookie", sent)


def _hidden(page: Exchange) -> dict[str, str]:
    if not page.succeeded or "<input" not in page.text.lower():
        return {}
    inputs = HiddenInputs()
    inputs.feed(page.text)
    return inputs.found
