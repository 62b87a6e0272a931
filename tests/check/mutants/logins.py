"""Correct endpoints with logins that are more than a form with two inputs; some are beyond the checker."""

from __future__ import annotations

import json
import secrets
from typing import Any, ClassVar
from urllib.parse import parse_qs

from tests.check.mutants.mutant_backend import PEOPLE, UNUSUAL, Backend, Claims, register
from tests.check.mutants.mutant_server import Answer, Request
from tests.check.mutants.unusual_sessions import OwnLogin

unusual = register(UNUSUAL)
HTML = ("Content-Type", "text/html")
WRONG = {"user": "ada", "password": "hunter-3"}


@unusual("WrongPassword")
class WrongPassword(Backend):
    options = {"login": "form", "fields": WRONG}


@unusual("WrongPasswordFormAgain")
class WrongPasswordFormAgain(Backend):
    """After a wrong password, the site shows the login form again and sets a cookie for the error message."""

    options = {"login": "form", "fields": WRONG}

    def login(self, request: Request) -> Answer:
        flash = [("Set-Cookie", "flash=wrong; Path=/")] if request.method == "POST" else []
        return Answer(200, [HTML, *flash], OwnLogin.form.encode())


@unusual("LoginWithEveryControl")
class LoginWithEveryControl(OwnLogin):
    """The form has a list, a ticked box, a filled-in input, and inputs outside of its element."""

    form = (
        '<input name="tenant" value="shop" form="in"><form id="search"><input name="q"></form>'
        '<form method="post" id="in">'
        '<input name="user"><input type="password" name="password"><select name="region"><option value="us">US</option>'
        '<option value="eu" selected>EU</option></select><input type="checkbox" name="terms" checked>'
        '<input type="checkbox" name="news"><textarea name="note"></textarea></form>'
        '<button name="do" value="in" form="in">'
    )

    def entered(self, request: Request) -> Answer:
        sent = {name: values[0] for name, values in parse_qs(request.body.decode(), keep_blank_values=True).items()}
        held = {name: sent.get(name) for name in ("tenant", "region", "terms", "news", "note", "do")}
        wanted = {"tenant": "shop", "region": "eu", "terms": "on", "news": None, "note": "", "do": "in"}
        return super().entered(request) if held == wanted else Answer(422, [HTML], b"incomplete")


@unusual("LoginInTwoSteps")
class LoginInTwoSteps(OwnLogin):
    """Asks for the name first, and for the password on the next page."""

    options = {"login": "form", "login_b": None}
    form = '<form method="post"><input name="user"><button>Next</button></form>'
    second = (
        '<form method="post"><input type="hidden" name="who" value="{}"><input type="password" name="password"></form>'
    )

    def entered(self, request: Request) -> Answer:
        sent = self.fields(request)
        if "password" not in sent:
            return Answer(200, [HTML], self.second.format(sent["user"]).encode())
        if "who" not in sent or sent["password"] != "hunter-2":
            return self.shown(request)
        return Answer(303, [("Location", "/"), ("Set-Cookie", self.set_cookie(self.begun(sent["who"])))])


class SingleSignOn(OwnLogin):
    """Logs in on another host, which sends the browser back with a code."""

    options = {"login": "form", "login_b": None}
    forms = frozenset({"/login", "/sso", "/back"})
    codes: dict[str, str]

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.codes = {}

    async def handle(self, request: Request) -> Answer:
        host = request.headers["host"]
        here, there = (f"http://{name}:{host.rpartition(':')[2]}/{self.name}" for name in ("127.0.0.1", "localhost"))
        if host.startswith("localhost"):
            return self.at_provider(request, f"{here}/back")
        if request.path == "/login":
            return Answer(302, [("Location", f"{there}/sso"), ("Set-Cookie", "state=s-1; Path=/; SameSite=Lax")])
        if request.path == "/back":
            return self.back(request)
        return await super().handle(request)

    name = "SingleSignOn"

    def at_provider(self, request: Request, back: str) -> Answer:
        if request.method == "GET":
            answer = Answer(200, [HTML], self.form.encode())
            return answer.add("Set-Cookie", "provider=p-1; Path=/")
        sent = self.fields(request)
        if request.cookies.get("provider") != "p-1" or "state" in request.cookies or sent.get("password") != "hunter-2":
            return Answer(403)
        code = secrets.token_hex(8)
        self.codes[code] = sent["user"]
        return self.returned(back, code)

    def returned(self, back: str, code: str) -> Answer:
        return Answer(302, [("Location", f"{back}?code={code}")])

    def back(self, request: Request) -> Answer:
        code = request.query.get("code") or self.fields(request).get("code", "")
        if request.cookies.get("state") != "s-1" or code not in self.codes:
            return Answer(403)
        return Answer(303, [("Location", "/"), ("Set-Cookie", self.set_cookie(self.begun(self.codes[code])))])


unusual("SingleSignOn")(SingleSignOn)


@unusual("SingleSignOnByForm")
class SingleSignOnByForm(SingleSignOn):
    """Returns with a form that the page's script sends, as SAML does."""

    name = "SingleSignOnByForm"

    def returned(self, back: str, code: str) -> Answer:
        form = f'<body onload="document.forms[0].submit()"><form method="post" action="{back}"><input type="hidden" '
        return Answer(200, [HTML], f'{form} name="code" value="{code}"></form>'.encode())


class Landing(OwnLogin):
    """Lands on a page with forms of its own. Sending one of them ends every session, as deleting the account does."""

    options = {"login": "form", "login_b": "form_b", "page_url": "{base}/page"}
    name: ClassVar[str]
    landing: ClassVar[str]

    async def handle(self, request: Request) -> Answer:
        base = f"http://{request.headers['host']}/{self.name}"
        if request.path in {"/", "/page"}:
            return Answer(200, [HTML], self.landing.format(away=base.replace("127.0.0.1", "localhost")).encode())
        if request.method == "POST" and request.path not in {"/login", self.path}:
            self.sessions.clear()
        return await super().handle(request)

    def entered(self, request: Request) -> Answer:
        answer = super().entered(request)
        return answer.set("Location", f"/{self.name}/") if answer.status == 303 else answer


HIDDEN = '<input type="hidden" name="csrf" value="c-41"></form>'
for name, landing in {
    "LandsOnLogoutButton": f'<form method="post" action="logout">{HIDDEN}',
    "LandsOnAccount": "".join(
        f'<form method="post" action="{path}">{HIDDEN}' for path in ("account/delete", "logout", "cart/clear")
    ),
    "LandsOnFormSentByScript": f'<script>f.submit()</script><form id="f" method="post" action="logout">{HIDDEN}',
    "LandsOnDonation": f'<script>f.submit()</script><form id="f" method="post" action="{{away}}/pay">{HIDDEN}',
    "LandsOnProfile": '<form method="post" action="profile"><input name="user"><input type="password" name="p"></form>',
}.items():
    unusual(name)(type(name, (Landing,), {"landing": landing, "name": name}))


class Bearer(OwnLogin):
    """Accepts logins as JSON, and returns a credential for the header Authorization."""

    options = {"login": "form", "login_b": None}

    def shown(self, request: Request) -> Answer:
        return self.json(405, {"error": "no"})

    def entered(self, request: Request) -> Answer:
        sent = json.loads(request.body) if request.headers.get("content-type") == "application/json" else {}
        if sent.get("user") not in PEOPLE or sent.get("password") != "hunter-2":
            return self.json(415 if not sent else 401, {"error": "no"})
        return self.json(200, self.credential(self.begun(sent["user"])))

    def credential(self, session: str) -> Claims:
        return {"access_token": session, "token_type": "bearer", "refresh_token": "r-0123456789abcdef0123"}

    def begun(self, user: str) -> str:
        session = secrets.token_urlsafe(24)
        self.sessions[session] = user
        return session

    def person(self, request: Request, body: Any) -> Claims | None:
        name = self.sessions.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        return dict(PEOPLE[name]) if name else None


unusual("LoginReturnsBearer")(Bearer)


@unusual("LoginReturnsBearerInside")
class BearerInside(Bearer):
    def credential(self, session: str) -> Claims:
        return {"data": {"user": {"id": 7}, "authToken": session}}


@unusual("LoginOfLaravel")
class LoginOfLaravel(OwnLogin):
    """Answers 419 until the script has got the cookie XSRF-TOKEN from an address of its own."""

    whole_site = True
    options = {"login": "form", "login_b": None}

    async def handle(self, request: Request) -> Answer:
        if request.path == "/sanctum/csrf-cookie":
            return Answer(204, [("Set-Cookie", "XSRF-TOKEN=c%2B80; Path=/; SameSite=Lax")])
        return await super().handle(request)

    def shown(self, request: Request) -> Answer:
        return Answer(405)

    def entered(self, request: Request) -> Answer:
        if request.headers.get("x-xsrf-token") != "c+80":
            return self.json(419, {"message": "CSRF token mismatch."})
        return super().entered(request)


class Beyond(OwnLogin):
    """Has a login that only a person can finish."""

    options = {"login": "form", "login_b": None}

    def entered(self, request: Request) -> Answer:
        return Answer(303, [("Location", "code")])


@unusual("LoginWithSecondFactor")
class LoginWithSecondFactor(Beyond):
    """Asks for a code, and gives the pending login a cookie."""

    def entered(self, request: Request) -> Answer:
        return super().entered(request).add("Set-Cookie", "sid=pending-5d1f0c7a; Path=/; HttpOnly")


@unusual("LoginWithCaptcha")
class LoginWithCaptcha(Beyond):
    def entered(self, request: Request) -> Answer:
        return Answer(403, [HTML], b"<p>Please solve the captcha</p>")


@unusual("LoginNeedsCsrf")
class LoginNeedsCsrf(Beyond):
    def entered(self, request: Request) -> Answer:
        return Answer(419, [HTML], b"<p>Page expired</p>")


@unusual("LoginOnOtherMachine")
class LoginOnOtherMachine(Beyond):
    def login(self, request: Request) -> Answer:
        return Answer(302, [("Location", "https://sso.example/login")])


@unusual("LoginIsAScript")
class LoginIsAScript(Beyond):
    """Has a login page without a form: a script draws it."""

    form = '<div id="app"></div><script src="/app.js"></script>'
