"""Logs a person in as the site's own pages do: with their forms, or with JSON if there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote, urlencode, urljoin, urlsplit

from chatkey_check import reading
from chatkey_check.calls.caller import Caller
from chatkey_check.calls.forms import Form, Forms
from chatkey_check.calls.listed import CSRF_COOKIE
from chatkey_check.calls.memo import Lasting
from chatkey_check.calls.requests import is_ours
from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Exchange, Header, origin
from chatkey_check.model import Skipped
from chatkey_check.target import Login

MOST_HOPS: Final = 10
MOST_STEPS: Final = 6
"""Most forms in a row: name, password, a question, and the forms that a single sign-on sends by itself."""
NAMES_SOMEBODY: Final = re.compile(r"user|login|mail|name|account|phone", re.IGNORECASE)
"""Fields that identify the person. The values of all other fields are masked, because they may be passwords."""
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"
OTHER_FORM: Final = frozenset({400, 405, 406, 415, 422})
"""Statuses that mean: send the fields in another format."""
PAGE_EXPIRED: Final = 419
MORE: Final = re.compile(
    r"(?:^|[^a-z])(?:otp|totp|mfa|2fa|code|pin|challenge|verify|captcha)(?:[^a-z]|$)|two.?factor|second.?factor",
    re.IGNORECASE,
)
"""Inputs and addresses of pages that ask for a second factor."""
CREDENTIAL: Final = re.compile(r"[A-Za-z0-9._~+/|-]{16,}=*")
NEXT: Final = (
    "log in in your browser and copy the session: --login 'Cookie: …'; or save it with Playwright: --login-state FILE; "
    "or log in by hand: --browser-login"
)


class LoginError(Skipped, Lasting):
    """The checker could not log in, which proves nothing about the endpoint. `about` shows the reason."""

    by = "net.session-works"

    def __init__(self, message: str, about: Exchange) -> None:
        super().__init__(f"the login failed: {message}. Instead, {NEXT}")
        self.about = about


class CookieError(Lasting):
    """The login works, but browsers do not send its cookie to the endpoint."""

    def __init__(self, message: str, about: Exchange) -> None:
        super().__init__(message)
        self.about = about


def log_in(caller: Caller, session: Session, login: Login, jkt: str = "") -> bool:
    """Open the login page and send the fields as its forms would, or as JSON if there is no form.

    Raises `LoginError` or `CookieError`. A token call, with `jkt` if given, shows whether the login worked. A cookie
    alone does not show this: the cookie may have existed before, or may not belong to a login. Returns whether the page
    had a form for the fields.
    """
    caller.masks.add(*login.passwords)
    caller.masks.add(*(urlencode([pair]) for pair in login.fields if not NAMES_SOMEBODY.search(pair[0])))
    attempt = _Attempt(caller, session, login, jkt or caller.new_jkt())
    asked = attempt.run()
    session.settle()
    return asked


class _Step(NamedTuple):
    """The answer to a form, and the page to which it led."""

    answer: Exchange
    landed: Exchange


@dataclass(frozen=True)
class _Attempt:
    """One login of one person. `jkt` is for the calls that show whether the login worked."""

    caller: Caller
    session: Session
    login: Login
    jkt: str

    def run(self) -> bool:
        page = self.followed(self.get("the form", self.login.url))
        before = self.session.cookies
        step, action = self.by_forms(page)
        trouble = self.trouble(step, before)
        if trouble and (not action or step.answer.status in OTHER_FORM):
            by_json = self.trouble(self.sent(page, action or self.login.url, dict(self.login.fields), JSON), before)
            trouble = by_json and (trouble if action else by_json)
        if trouble:
            raise trouble
        return bool(action)

    def by_forms(self, page: Exchange) -> tuple[_Step, str]:
        """Fill in and send one form after the other, until the endpoint knows the person or no page asks for a field.

        Return the last step, and the address of the first form. If there is no form, send the fields to the login page.
        """
        rest, sent = dict(self.login.fields), list[tuple[str, Form]]()
        step = _Step(page, page)
        while len(sent) < MOST_STEPS:
            form = self.following(step.landed, rest)
            if form is None or (sent and self.call(self.session).minted):
                break
            page = step.landed
            sent.append((urljoin(page.request.url, form.action), form))
            step = self.by_form(page, form, rest)
        if not sent:
            return self.sent(page, self.login.url, rest, FORM), ""
        action, form = sent[0]
        if rest and step.landed.request.url == page.request.url:
            step = self.sent(page, action, form.filled(self.login.fields), FORM)
        return step, action

    def following(self, page: Exchange, rest: Mapping[str, str]) -> Form | None:
        """Return the form of a page that asks for a field, or that a single sign-on sends to another site.

        No other form is ever sent: it may log out or delete the account. Raises `LoginError` if the login page has a
        form with a password, but none with the fields.
        """
        forms = Forms(page.text if page.succeeded else "")
        wanted = forms.wanted(rest.items())
        if wanted is not None:
            return wanted
        onward = forms.sent_by_script
        if onward is not None:
            there = urljoin(page.request.url, onward.action)
            leaves = origin(there) != origin(page.request.url)
            comes_home = is_ours(self.caller.target, there) or origin(there) == origin(self.login.url)
            if leaves and (rest or comes_home):
                return onward
        asking = next((form for form in forms.found if form.has_password), None)
        if asking and len(rest) == len(self.login.fields):
            names = ", ".join(sorted(asking.names))
            raise LoginError(f"the login form has the fields {names}; name them with --login-field", page)
        return None

    def by_form(self, page: Exchange, form: Form, rest: dict[str, str]) -> _Step:
        """Send one form. The fields that it has are taken out of `rest`; if it has a password, all of them are."""
        mine = {name: value for name, value in rest.items() if name in form.names or form.has_password}
        for name in mine:
            del rest[name]
        return self.sent(page, urljoin(page.request.url, form.action), form.filled(mine.items()), FORM)

    def sent(self, page: Exchange, url: str, fields: dict[str, str], kind: str) -> _Step:
        """Send fields, and follow the redirects. If a CSRF token is missing, get it as Laravel's scripts do."""
        body = (urlencode(fields) if kind == FORM else json.dumps(fields)).encode()
        answer = self.post(page, url, body, kind)
        if _lacks_csrf(answer) and "XSRF-TOKEN" not in self.session.cookies:
            self.get("the cookie against forged requests", urljoin(url, CSRF_COOKIE))
            answer = self.post(page, url, body, kind) if "XSRF-TOKEN" in self.session.cookies else answer
        return _Step(answer, self.followed(answer))

    def post(self, page: Exchange, url: str, body: bytes, kind: str) -> Exchange:
        self.check_allowed(url)
        headers = (("Origin", origin(page.request.url)), ("Content-Type", kind), *csrf(page, self.session))
        return self.caller.fetch(
            f"{self.session.name}: the filled-in form", url, self.session, form=body, headers=headers
        )

    def get(self, what: str, url: str) -> Exchange:
        self.check_allowed(url)
        return self.caller.fetch(f"{self.session.name}: {what}", url, self.session)

    def check_allowed(self, url: str) -> None:
        """Raise `LoginError` for an address on another machine, unless calls to other machines are allowed."""
        if not self.caller.target.allows(url):
            where = url.partition("?")[0]
            raise LoginError(f"it leads to {where} on another machine, which --yes allows", self.caller.record.log[-1])

    def followed(self, done: Exchange) -> Exchange:
        """Follow redirects, also to other hosts and back, and return the last exchange."""
        for _ in range(MOST_HOPS):
            if not done.redirected or not done.location.startswith(("http:", "https:")):
                break
            done = self.get("the redirect after the form", done.location)
        return done

    def trouble(self, step: _Step, before: Mapping[str, str]) -> LoginError | None:
        """Return why the login failed, or None if the endpoint knows the person. Raises `CookieError`."""
        sent, landed = step
        if not sent.status or sent.status >= 400:
            return LoginError(f"the login form is answered with {sent.result}", sent)
        answer = self.call(self.session)
        if answer.minted or reading.holds_token(answer.text) or self.bears(sent):
            return None
        self.check_cookies(sent)
        if any(form.has_password for form in Forms(landed.text).found):
            return LoginError("the login form appears again: a field or the password is wrong", sent)
        if _asks_more(landed):
            return LoginError(f"after the password, the site asks for more at {landed.request.url}", landed)
        if self.session.cookies == before:
            return LoginError("the login form set no cookie, and the endpoint returns no token", sent)
        return None  # the checks judge what the endpoint answers

    def bears(self, answer: Exchange) -> bool:
        """If the answer is JSON with a credential that the endpoint accepts, use it as a bearer from now on."""
        for credential in _credentials(answer):
            header = ("Authorization", f"Bearer {credential}")
            if self.call(self.session.bearing([header])).minted:
                self.session.bear(header)
                self.caller.masks.add(*self.session.secrets)
                return True
        return False

    def check_cookies(self, sent: Exchange) -> None:
        """Raise `CookieError` if the endpoint knows the person only by cookies that browsers do not send there."""
        home, jar = self.caller.target.url, self.session.jar
        unsent = [(one, f"it is for {one.kept_from(home)}") for one in jar.all if one.kept_from(home)]
        unsent += jar.refused.values()
        cookies = {**self.session.cookies, **{cookie.name: cookie.value for cookie, _ in unsent}}
        if unsent and self.call(self.session.with_cookies(cookies)).minted:
            cookie, why = unsent[-1]
            raise CookieError(f"Browsers do not send the cookie {cookie.name} to the endpoint: {why}", sent)

    def call(self, session: Session) -> Exchange:
        label = f"{self.session.name}: a call that shows whether the login worked"
        return self.caller.ask(label, session, jkt=self.jkt)


def _lacks_csrf(answer: Exchange) -> bool:
    return answer.status == PAGE_EXPIRED or (answer.status in {403, 422} and "csrf" in answer.text.lower())


def _asks_more(page: Exchange) -> bool:
    """Return whether a page asks for a second factor, or for proof that the caller is not a robot."""
    inputs = (name for form in Forms(page.text).found if form.to_type for name in form.names)
    return any(MORE.search(name) for name in (urlsplit(page.request.url).path, *inputs))


def _credentials(answer: Exchange) -> list[str]:
    """Return the texts in a JSON answer that may be a bearer's credential, at most three."""
    try:
        found = _texts(answer.json)
    except reading.Unreadable:
        return []
    return [text for name, text in found if "token" in name.lower() or "jwt" in name.lower()][:3]


def _texts(value: object, name: str = "") -> list[tuple[str, str]]:
    """Return the texts of a JSON value that look like credentials, each with the name of its member."""
    if isinstance(value, dict):
        return [text for inner, member in value.items() for text in _texts(member, str(inner))]
    return [(name, value)] if isinstance(value, str) and CREDENTIAL.fullmatch(value) else []


def csrf(page: Exchange | None, session: Session) -> tuple[Header, ...]:
    """Return the anti-forgery (CSRF) headers that the page's scripts would send, from a meta element and a cookie."""
    meta = Forms(page.text).csrf if page and page.succeeded else ""
    cookies = session.cookies
    named = (
        ("X-CSRF-Token", meta),
        ("X-XSRF-TOKEN", unquote(cookies.get("XSRF-TOKEN", ""))),
        ("X-CSRFToken", cookies.get("csrftoken", "")),
    )
    return tuple((name, value) for name, value in named if value)
