"""Tests of the leak check.

The check must report a token in every place where the contract forbids tokens, and in no other place.
"""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import jwt
import pytest

from chatkey_e2e.sockets import Sent, Socket
from chatkey_e2e.witness import Witness

SECRET = "the-provider's-secret-key-of-32-bytes"
SHOP = "https://shop.localhost/"
URI = "wss://chat.localhost/v1/socket"
EXCHANGE = "https://chat.localhost/v1/public/provider/p/member/token"


def token(**claims: object) -> str:
    return jwt.encode(claims, SECRET, algorithm="HS256")


VISITOR = token(type="visitor")
CUSTOM = token(type="user", uid="u-1")
SOCIAL = token(type="user", uid="google:1", data={"auth_provider": "google"})
IDENTITY = token(type="identity", uid="google:1")
MEMBERS = "wf_member_token_p"
Place = Callable[["Seen"], object]


class Seen:
    """What a witness has seen: a socket opened with each kind of token, an exchange, and an empty page."""

    def __init__(self) -> None:
        self.storage: dict[str, str] = {}
        self.elsewhere: dict[str, str] = {}
        self.written = ""
        self.process: Any = SimpleNamespace(name="service", mark=0, output=lambda since: self.written)
        self.witness = Witness(cast("Any", SimpleNamespace(servers=[SimpleNamespace(process=self.process)])), {SECRET})
        self.witness.sent += [Sent(URI, json.dumps({"type": "connect", "token": one})) for one in (VISITOR, CUSTOM)]
        self.witness.sent.append(Sent(URI, json.dumps({"type": "connect", "token": SOCIAL})))
        self.asks(f"{EXCHANGE}?auth={IDENTITY}&jkt=x")

    def asks(self, url: str, **headers: str) -> None:
        self.witness.requests.append(cast("Any", SimpleNamespace(url=url, headers=headers)))

    def writes(self, text: str) -> None:
        self.written = text

    def leaks(self) -> list[str]:
        shown = {"localStorage": self.storage, "elsewhere": self.elsewhere}
        page = SimpleNamespace(url=SHOP, is_closed=lambda: False, evaluate=lambda script: shown)
        return self.witness.leaks([cast("Any", SimpleNamespace(pages=[page]))])


@pytest.mark.contract("2.8/member-token-key")
def test_tokens_in_the_places_of_the_contract_are_no_leak() -> None:
    seen = Seen()
    seen.storage |= {MEMBERS: CUSTOM, "wf_member_token_q": IDENTITY}
    seen.elsewhere["text"] = "Ada"
    seen.writes("socket.ready uid=u-1")

    assert seen.leaks() == []


@pytest.mark.contract("2.6/memory-only")
@pytest.mark.parametrize(
    ("place", "found"),
    [
        (lambda seen: seen.writes(f"refused {SECRET}"), "a secret of the business in service's output"),
        (lambda seen: seen.writes(f"refused {VISITOR}"), "a token of type 'visitor' in service's output"),
        (lambda seen: seen.witness.said.append(f"token: {CUSTOM}"), "a token of type 'user' in the console"),
        (lambda seen: seen.storage.update({MEMBERS: VISITOR}), "a token of type 'visitor' in the cached member token"),
        (lambda seen: seen.storage.update({MEMBERS: SOCIAL}), "a token of type 'user' in the cached member token"),
        *(
            (lambda seen, one=one: seen.storage.update({"debug": one}), f"a token of type '{kind}' in ")
            for one, kind in ((VISITOR, "visitor"), (CUSTOM, "user"), (SOCIAL, "user"), (IDENTITY, "identity"))
        ),
        *(
            (
                lambda seen, name=name: seen.elsewhere.update({name: f"x{CUSTOM}x"}),
                f"a token of type 'user' in {name} of {SHOP}",
            )
            for name in ("sessionStorage", "cookie", "text", "attributes", "url", "name")
        ),
        (lambda seen: seen.asks(f"{SHOP}?t={IDENTITY}"), f"a token of type 'identity' in the address {SHOP}"),
        (
            lambda seen: seen.witness.sockets.append(Socket(f"{URI}?token={VISITOR}")),
            f"a token of type 'visitor' in the address {URI}",
        ),
        (
            lambda seen: seen.asks("https://id.localhost/x", referer=f"{EXCHANGE}?auth={IDENTITY}"),
            "a token of type 'identity' in the referrer sent to https://id.localhost/x",
        ),
    ],
)
def test_a_token_or_secret_in_another_place_is_a_leak_and_is_not_shown(place: Place, found: str) -> None:
    seen = Seen()

    place(seen)

    (leak,) = seen.leaks()
    assert leak.startswith(found)
    assert not any(one in leak for one in (SECRET, VISITOR, CUSTOM, SOCIAL, IDENTITY))
