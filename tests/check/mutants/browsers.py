"""Endpoints and logins that depend on how a browser keeps cookies, and on a visitor's second call."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.mutant_backend import BROKEN, UNUSUAL, Backend, Claims, register
from tests.check.mutants.mutant_server import Answer, Request

broken, unusual = register(BROKEN), register(UNUSUAL)

# the second call of a visitor


class Returning(Backend):
    """Gives each visitor a cookie, and answers the next call with `again`."""

    def answer(self, request: Request, token: Any) -> Answer:
        answer = super().answer(request, token)
        if token:
            return answer
        if "cart" in request.cookies:
            return self.again(request, answer)
        return answer.add("Set-Cookie", "cart=c-5d1f0c7a9b; Path=/; HttpOnly; SameSite=Lax")

    def again(self, request: Request, answer: Answer) -> Answer:
        return answer


unusual("VisitorHasCart")(Returning)


@broken("guest-on-second-call")
class GuestOnSecondCall(Returning):
    def again(self, request: Request, answer: Answer) -> Answer:
        guest = {"uid": "guest-5d1f0c", "name": "Guest"}
        return self.json(200, {"token": self.token(guest, self.jkt(request, self.parsed(request)))})


@broken("visitors-session-crashes")
class VisitorsSessionCrashes(Returning):
    def again(self, request: Request, answer: Answer) -> Answer:
        return Answer(500, [], b"session has no user")


@broken("visitors-session-redirected")
class VisitorsSessionRedirected(Returning):
    def again(self, request: Request, answer: Answer) -> Answer:
        return Answer(302, [("Location", "/login")])


@broken("visitors-session-html")
class VisitorsSessionHtml(Returning):
    def again(self, request: Request, answer: Answer) -> Answer:
        return Answer(200, [("Content-Type", "text/html")], b"<h1>Welcome back</h1>")


@broken("guest-by-jkt")
class GuestByJkt(Backend):
    """Creates a guest for each jkt that it sees a second time."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: set[str] = set()

    def answer(self, request: Request, token: Any) -> Answer:
        jkt = str(self.jkt(request, self.parsed(request)))
        if token or jkt not in self.seen:
            self.seen |= set() if token else {jkt}
            return super().answer(request, token)
        return super().answer(request, self.token({"uid": f"guest-{jkt[:6]}"}, jkt))


@broken("page-makes-guests")
class PageMakesGuests(Backend):
    """Gives everyone who opens the page a session, and does not look whether somebody is logged in."""

    options = {"page_url": "{base}/page"}

    async def handle(self, request: Request) -> Answer:
        if request.path == "/page":
            return Answer(200, [("Content-Type", "text/html"), ("Set-Cookie", "guest=g-5d1f0c7a; Path=/")], b"<p>Hello")
        return await super().handle(request)

    def person(self, request: Request, body: Any) -> Claims | None:
        guest = request.cookies.get("guest") == "g-5d1f0c7a"
        return super().person(request, body) or ({"uid": "g-5d1f0c7a"} if guest else None)


# the cookie of the login


class Cookies(Backend):
    """Logs in with the form, and sets the session with other attributes."""

    options = {"login": "form", "login_b": None}
    attributes = "Path=/; HttpOnly"

    def set_cookie(self, session: str) -> str:
        return f"{self.cookie}={session}; {self.attributes}"


def cookie(name: str, attributes: str, cookie: str = "sid", base: type[Cookies] = Cookies) -> None:
    known = BROKEN if name.islower() else UNUSUAL
    register(known)(name)(type("OwnCookie", (base,), {"attributes": attributes, "cookie": cookie}))


cookie("cookie-of-account-path", "Path=/account; HttpOnly")
cookie("cookie-of-path-beside", "Path=/cookie-of-path-beside/chat/tok; HttpOnly")
cookie("cookie-of-other-domain", "Path=/; Domain=shop.example; HttpOnly")
cookie("cookie-host-prefix-without-secure", "Path=/; HttpOnly", "__Host-sid")
cookie("cookie-host-prefix-with-path", "Path=/cookie-host-prefix-with-path; Secure", "__Host-sid")
cookie("cookie-secure-prefix-without-secure", "Path=/; HttpOnly", "__Secure-sid")
cookie("cookie-samesite-none-without-secure", "Path=/; SameSite=None")
cookie("cookie-too-large", f"Path=/; Comment={'x' * 20}", f"sid{'x' * 4090}")
cookie("CookieHostPrefix", "Path=/; Secure; HttpOnly; SameSite=Lax", "__Host-sid")
cookie("CookieSecurePrefix", "Path=/CookieSecurePrefix; Secure", "__Secure-sid")
cookie("CookieOfOwnPath", "Path=/CookieOfOwnPath/chat/; HttpOnly")
cookie("CookieOfExactPath", "Path=/CookieOfExactPath/chat/token; HttpOnly")
cookie("CookieWithOldExpires", "Path=/; Max-Age=3600; Expires=Thu, 01 Jan 1970 00:00:00 GMT")
cookie("CookieStrict", "Path=/; Secure; SameSite=Strict; Max-Age=3600")


@broken("login-by-pin")
class LoginByPin(Cookies):
    """Logs in with another field than a password, and sets the session for another domain."""

    options = {**Cookies.options, "fields": {"user": "ada", "pin": "x + y"}}
    attributes = "Path=/; Domain=shop.example"

    def login(self, request: Request) -> Answer:
        request.body = request.body.replace(b"pin=x+%2B+y", b"password=hunter-2")
        return super().login(request)


@unusual("LoginDeletesCookie")
class LoginDeletesCookie(Cookies):
    """Marks the login page with a cookie, deletes it after the login, and knows nobody as long as it is there."""

    def login(self, request: Request) -> Answer:
        answer = super().login(request)
        if answer.status == 303:
            return answer.add("Set-Cookie", "step=; Path=/; Max-Age=0")
        return answer.add("Set-Cookie", "step=login; Path=/")

    async def endpoint(self, request: Request) -> Answer:
        if "step" in request.cookies:
            return self.answer(request, None)
        return await super().endpoint(request)


@unusual("AdminHasOwnCookie")
class AdminHasOwnCookie(Cookies):
    """Sets another cookie of the same name, for another path."""

    def login(self, request: Request) -> Answer:
        answer = super().login(request)
        return (
            answer.add("Set-Cookie", "sid=admin-nobody; Path=/AdminHasOwnCookie/admin")
            if answer.status == 303
            else answer
        )
