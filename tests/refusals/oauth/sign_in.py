"""One social login, and the popup page that ends it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit

import httpx

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_oauth.client import Rule
    from chatkey_peer.key import Json


ORIGIN: Final = "https://shop.example"
NONCE: Final = "the-widgets-own-nonce"

STATUS: Final = {
    "origin_not_allowed": 403,
    "provider_off": 403,
    "provider_unknown": 404,
    "social_unknown": 404,
    "social_disabled": 404,
    "media_type_unsupported": 415,
    "rate_limited": 429,
    "oauth_failed": 502,
}
"""The HTTP status of each refusal that is not a 400."""

LOCKED: Final = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

MakeSignIn = Callable[..., "SignIn"]
Misbehave = Callable[..., "Rule"]

TOKEN: Final = re.compile(r"eyJ(?:hbGci|0eXAi)|eyJ[\w-]+\.")
"""Matches the beginning of a JWS header, or any token. The page's nonce may contain the first letters by chance."""


class Popup:
    """The page in the popup: the status, the displayed code, and the message that the script posts to an origin."""

    def __init__(self, answer: httpx.Response) -> None:
        self.status = answer.status_code
        self.headers = answer.headers
        self.text = answer.text
        assert {name: answer.headers[name] for name in LOCKED} == LOCKED
        assert "set-cookie" not in answer.headers
        shown = re.search(r"<p><code>(\w+)</code></p>", answer.text)
        self.code = shown[1] if shown else None
        posted = re.search(r"const delivery = (.*);\n", answer.text)
        self.delivery: Json | None = json.loads(posted[1]) if posted else None
        assert answer.text.count("postMessage(") == (1 if posted else 0)

    @property
    def message(self) -> Json:
        assert self.delivery is not None, self.text
        message: Json = self.delivery["message"]
        return message

    @property
    def token(self) -> str:
        assert self.status == 200, self.text
        return str(self.message["token"])


class SignIn:
    """One login of one person, beginning with the click on the login button."""

    def __init__(
        self, service: Service, provider: httpx.Client, shop: Shop, social: str, query: dict[str, str]
    ) -> None:
        self._service = service
        self._provider = provider
        self.shop = shop
        self.social = social
        self.callback = f"/v1/public/oauth/{social}/callback"
        honest = {"origin": ORIGIN, "nonce": NONCE, "jkt": shop.key.jkt}
        started = service.http.get(f"{shop.path}/oauth/{social}", params={**honest, **query})
        assert started.status_code == 302, started.text
        self.location = started.headers["location"]
        self.request = dict(parse_qsl(urlsplit(self.location).query))
        self.state = self.request["state"]

    def approve(self, account: str = "rhea", **changes: str) -> dict[str, str]:
        """Approve the login at the social provider as the person `account`, and return the callback's parameters.

        `changes` alter the authorization request.
        """
        hint = {"github": "login"}.get(self.social, "login_hint")
        query = {**self.request, hint: account, **changes}
        answer = self._provider.get(self.location.partition("?")[0], params=query)
        assert answer.status_code in {302, 303}, answer.text
        address = urlsplit(answer.headers["location"])
        assert address.path == self.callback
        return dict(parse_qsl(address.query, keep_blank_values=True))

    def arrive(self, given: Any, *, at: str | None = None, method: str = "GET") -> Popup:
        """Send the parameters to the callback, as a query or as a posted form."""
        where = {"params": given} if method == "GET" else {"data": given}
        path = f"/v1/public/oauth/{at or self.social}/callback"
        return Popup(self._service.http.request(method, path, **where))

    def finish(self, account: str = "rhea") -> Popup:
        """Complete the login without changing anything."""
        return self.arrive(self.approve(account))

    def members(self) -> list[Json]:
        return self._service.lab.members(self.shop.id)

    def accept(self, given: Any = None, **how: Any) -> Json:
        """Send the parameters to the callback, which must accept them. Returns the claims of the identity token."""
        page = self.arrive(self.approve() if given is None else given, **how)
        claims = self.claims_of(page)
        assert claims["uid"] in [member["uid"] for member in self.members()]
        return claims

    def claims_of(self, page: Popup) -> Json:
        """Return the claims of the identity token that a page posts. The service must accept this token."""
        assert page.delivery is not None, page.text
        message = {"type": "wf:oauth", "providerId": self.shop.id, "social": self.social, "nonce": NONCE}
        assert page.delivery == {"origin": ORIGIN, "message": {**message, "token": page.token}}
        assert self.shop.exchange(page.token).status_code == 200
        claims: Json = json.loads(base64.urlsafe_b64decode(page.token.split(".")[1] + "=="))
        return claims

    def refuse(self, given: Any, code: str, *, told: bool = True, **how: Any) -> Popup:
        """Send the parameters to the callback, which must refuse them with this code.

        The page must show the code, and no member may be created. If `told` is true, the opener must receive the code.
        """
        before = self.members()
        page = self.arrive(given, **how)
        assert (page.status, page.code) == (STATUS.get(code, 400), code), page.text
        assert TOKEN.search(page.text.replace(self.state, "")) is None
        if told:
            self._check_told(page, code)
        else:
            assert page.delivery is None
        assert self.members() == before
        heard = self._service.heard("oauth.refused")["facts"]
        assert (heard["at"], heard["code"]) == ("callback", code)
        return page

    def _check_told(self, page: Popup, code: str) -> None:
        assert page.delivery is not None
        assert page.delivery["origin"] == ORIGIN
        message = dict(page.message)
        error = message.pop("error")
        assert message == {"type": "wf:oauth", "providerId": self.shop.id, "social": self.social, "nonce": NONCE}
        assert error["code"] == code
        assert error["message"]
