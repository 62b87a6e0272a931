"""The opening of a socket and the first frames: allowed origins, required values and the order of checks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.subject.subject import Subject, Unopened
from chatkey_peer.key import BrowserKey

FAMILY = Family("opening", "Opening of the socket", "socket.md#order-of-checks")
FORBIDDEN, BAD_FRAME = 4403, 4400
LONGEST_WAIT = 20
SLOP = 1.5
"""Seconds that `hello` may take to arrive."""
LATE = 3.0
"""Seconds that a close may be late on a busy machine; half of `auth_timeout` if that is more."""


@FAMILY.judges("D-10/hello", "D-10/accept-first", page="socket.md#opening")
def the_service_speaks_first(subject: Subject) -> None:
    """The first frame is `hello`, with a nonce, the service's time and the time limits."""
    with subject.socket() as peer:
        hello = peer.hello

    expect(hello["type"], "hello", "type of the first frame")
    expect_that(hello["nonce"], "The nonce of hello is empty")
    expect_that(hello["auth_timeout"] > 0 and hello["ping"] > 0, "auth_timeout or ping of hello is not above 0")
    expect_that(
        abs(hello["server_time"] - subject.now()) < 60,
        "server_time of hello differs from the service's time by 60 s or more",
    )


@FAMILY.judges(
    "D-10/insecure-origin",
    "5.6/secure-context",
    "D-10/accept-first",
    each={
        "WSK-002": ("null", "origin_not_allowed"),
        "plain-http": ("http://shop.example", "insecure_origin"),
        "not-this-machine": ("http://localhost.evil.example", "insecure_origin"),
        "extension": ("chrome-extension://abcdefghijklmnop", "origin_not_allowed"),
        "file": ("file://", "origin_not_allowed"),
        "capitals": ("https://SHOP.example", "origin_not_allowed"),
        "path": ("https://shop.example/path", "origin_not_allowed"),
        "list": ("https://shop.example, https://evil.example", "origin_not_allowed"),
    },
)
def a_page_without_a_secure_origin_of_its_own_is_refused(subject: Subject, origin: str, code: str) -> None:
    """A page on plain http or without a web origin is refused and gets no `hello`."""
    with subject.socket(origin=origin) as peer:
        peer.end().refused(code, FORBIDDEN)


@FAMILY.judges(
    "D-10/insecure-origin",
    each=(
        "http://localhost:3000",
        "http://shop.localhost",
        "http://127.0.0.1:8000",
        "http://127.8.9.1",
        "http://[::1]:5173",
    ),
)
def a_page_of_this_machine_may_come_by_plain_http(subject: Subject, origin: str) -> None:
    """A page on plain http is accepted if its origin is a loopback address."""
    shop = subject.shop_with(restrict_socket_origins=False) if subject.has("businesses") else subject.shop()
    token = shop.token()
    with subject.socket(origin=origin) as peer:
        peer.join(token, shop.key)


@FAMILY.judges(
    "D-10/origin-restriction",
    needs=["businesses"],
    rows=["F135"],
    each={
        "foreign": "https://evil.example",
        "subdomain": "https://a.shop.example",
        "suffix": "https://shop.example.evil.example",
        "prefix": "https://evilshop.example",
        "port": "https://shop.example:8443",
        "none": (None,),
    },
)
def a_business_that_keeps_to_its_pages_refuses_foreign_ones(subject: Subject, origin: str | None) -> None:
    """A business that restricts its sockets accepts only its registered origins."""
    shop = subject.shop_with(restrict_socket_origins=True)
    token = shop.token()
    with subject.socket(origin=shop.origin) as own, subject.socket(origin=origin) as foreign:
        own.join(token, shop.key)
        foreign.connect(token, foreign.prove(shop.key, token)).refused("origin_not_allowed", FORBIDDEN)


@FAMILY.judges("D-10/checks", rows=["WSK-004"])
def two_origins_are_refused(subject: Subject) -> None:
    """Two `Origin` headers are refused with HTTP 400 before the upgrade, or with `parameter_repeated`."""
    try:
        with subject.socket(origins=2) as peer:
            peer.end().refused("parameter_repeated", BAD_FRAME)
    except Unopened as unopened:
        expect(unopened.status, 400, "The status of an upgrade with two origins")


@FAMILY.judges("D-10/origin-restriction", needs=["businesses"])
def unless_a_business_says_so_any_secure_page_may_connect(subject: Subject) -> None:
    """A business that does not restrict its sockets accepts any secure page."""
    shop = subject.shop_with(restrict_socket_origins=False)
    for origin in ("https://elsewhere.example", None):
        with subject.socket(origin=origin) as peer:
            peer.join(shop.token(), shop.key)


@FAMILY.judges("D-03/provider-off", needs=["businesses"])
def a_business_that_is_off_is_refused_after_the_proof(subject: Subject) -> None:
    """A connection to a business that is switched off is refused with `provider_off`, after the proof was checked."""
    shop = subject.shop_with(enabled=False)
    token = shop.token()

    subject.try_token(token, shop.key).refused("provider_off", FORBIDDEN)
    subject.try_token(token, BrowserKey()).refused("proof_key_mismatch", FORBIDDEN)


@FAMILY.judges("D-10/subprotocol", rows=["WSK-008"])
def a_token_in_the_address_is_refused(subject: Subject) -> None:
    """A token in the socket's address is refused before `hello`, and the refusal does not repeat the token."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket(query=f"token={token}") as peer:
        ended = peer.end()
    ended.refused("parameter_invalid", BAD_FRAME)
    expect_that(token not in json.dumps(ended.frames), "The refusal repeats the token")
    with subject.socket(query="utm=a") as peer:
        peer.join(shop.token(), shop.key)


@FAMILY.judges(
    "D-10/subprotocol", each={"none": ((),), "another": (("wf.v2",),), "among": (("wf.v2", "wf.v1"),)}, rows=["WSK-009"]
)
def the_subprotocol_is_named_where_it_is_offered(subject: Subject, offered: tuple[str, ...]) -> None:
    """A client is accepted without `wf.v1`, but the service names a subprotocol only if `wf.v1` was offered."""
    shop = subject.shop()
    with subject.socket(subprotocols=offered) as peer:
        chosen = peer.connection.subprotocol
        peer.join(shop.token(), shop.key)

    expect(chosen, "wf.v1" if "wf.v1" in offered else None, "The subprotocol that the service chose")


@FAMILY.judges("D-10/ready", page="socket.md#opening")
def ready_tells_until_when_the_token_lasts(subject: Subject) -> None:
    """`expires_at` in `ready` is the token's `exp`, and `server_time` is the service's time."""
    shop = subject.shop()
    end = shop.now + 600
    with subject.socket() as peer:
        ready = peer.join(shop.token(exp=end), shop.key)

    expect(ready["expires_at"], end, "expires_at of ready")
    expect_that(
        abs(ready["server_time"] - subject.now()) < 60,
        "server_time of ready differs from the service's time by 60 s or more",
    )


# the first frame


@FAMILY.judges("D-10/auth-timeout", "D-10/patience", rows=["WSK-021"])
def a_silent_peer_is_closed_when_its_time_is_over(subject: Subject) -> None:
    """The connection of a client that does not send `connect` within `auth_timeout` is closed with 4408."""
    with subject.socket() as silent:
        most = silent.hello["auth_timeout"]
        if most > LONGEST_WAIT:
            raise OtherLimit(f"not tested with auth_timeout = {most} s: the suite waits at most {LONGEST_WAIT} s")
        begun = time.monotonic()
        ended = silent.end(most)
        waited = time.monotonic() - begun

    ended.refused("auth_timeout", 4408)
    is_in_time = most - SLOP < waited < most + max(LATE, most / 2)
    expect_that(is_in_time, f"The socket was closed after {waited:.1f} s; auth_timeout of hello is {most} s")


@FAMILY.judges(
    "D-10/nonce", "D-10/frame-schema", rows=["WSK-024", "WSK-025", "F122"], each={"same": False, "other": True}
)
def a_second_connect_ends_the_connection(subject: Subject, other: bool) -> None:
    """A second `connect` ends the connection with `frame_unexpected`, and later frames have no effect."""
    shop = subject.shop()
    mine, key = shop.token(), BrowserKey() if other else shop.key
    second = shop.token(uid=f"{shop.member}-bob", cnf={"jkt": key.jkt}) if other else mine
    with subject.socket() as peer:
        peer.join(mine, shop.key)
        peer.say({"type": "connect", "token": second, "proof": peer.prove(key, second)})
        peer.say({"type": "message", "id": "m-1", "body": "Who am I?"})
        peer.end().refused("frame_unexpected", BAD_FRAME)
    with subject.socket() as peer:
        peer.join(second, key)
        stored = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect(stored, [], "What is stored of a connection that was refused")


EARLY: dict[str, dict[str, Any]] = {
    "message": {"type": "message", "id": "m-1", "body": "Hello?"},
    "history": {"type": "history", "id": "h-1"},
    "search": {"type": "search", "id": "s-1", "query": "a"},
    "call": {"type": "call", "id": "c-1", "action": "start"},
    "refresh": {"type": "refresh", "token": "e30.e30.AA"},
    "ping": {"type": "ping"},
}


@FAMILY.judges("D-10/checks", "D-10/frame-schema", each=EARLY, rows=["WSK-026", "F121"])
def a_frame_before_connect_is_refused(subject: Subject, frame: dict[str, Any]) -> None:
    """Any other frame before `connect`, even a `ping`, is refused, and a later `connect` has no effect."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as early:
        early.say(frame)
        early.say({"type": "connect", "token": token, "proof": early.prove(shop.key, token)})
        early.end().refused("frame_unexpected", BAD_FRAME)
    with subject.joined(shop, token) as peer:
        stored = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect(stored, [], "What is stored of a connection that was refused")


@FAMILY.judges("D-10/nonce", "4.9/one-time")
def a_refused_proof_is_no_second_chance(subject: Subject) -> None:
    """A refusal ends the connection, and a later valid `connect` has no effect."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as peer:
        wrong = peer.prove(BrowserKey(), token)
        peer.say({"type": "connect", "token": token, "proof": wrong})
        peer.say({"type": "connect", "token": token, "proof": peer.prove(shop.key, token)})
        peer.end().refused("proof_key_mismatch", FORBIDDEN)


DAMAGED: dict[str, Callable[[str], str | bytes]] = {
    "WSK-029-empty": lambda _: "",
    "WSK-029-invalid": lambda frame: frame + "}",
    "WSK-029-truncated": lambda frame: frame[:-10],
    "WSK-029-bom": lambda frame: "\ufeff" + frame,
    "WSK-029-list": lambda frame: f"[{frame}]",
    "WSK-029-twice": lambda frame: frame[:-1] + ',"type":"connect"}',
    "WSK-029-nan": lambda frame: frame[:-1] + ',"x":NaN}',
    "WSK-029-too-far": lambda frame: frame[:-1] + ',"x":1e999}',
    "WSK-029-lone-surrogate": lambda frame: frame[:-1] + ',"x":"\\ud800"}',
    "WSK-029-nul": lambda frame: frame.replace('"connect"', '"conn\\u0000ect"'),
    "WSK-029-type-list": lambda frame: frame.replace('"connect"', '["connect"]'),
    "WSK-029-binary": lambda frame: frame.encode(),
    "WSK-029-levels": lambda frame: frame[:-1] + ',"x":' + "[" * 40 + "]" * 40 + "}",
    "WSK-029-30000-levels": lambda _: "[" * 30_000 + "]" * 30_000,
    "WSK-029-levels-within": lambda frame: frame[:-1] + ',"x":' + "[" * 30_000,
    "WSK-029-digits": lambda frame: frame[:-1] + ',"x":' + "9" * 50_000 + "}",
    "unknown-kind": lambda frame: frame.replace('"connect"', '"conect"'),
}


@FAMILY.judges("D-10/frame-schema", "D-10/checks", each=DAMAGED)
def a_connect_frame_that_is_no_strict_json_is_refused(subject: Subject, damage: Callable[[str], str | bytes]) -> None:
    """A `connect` frame that is not one strict JSON object in a text message is refused with `frame_invalid`."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as peer:
        sent = damage(json.dumps({"type": "connect", "token": token, "proof": peer.prove(shop.key, token)}))
        subject.within(len(sent), "frame_bytes")
        peer.say(sent)
        ended = peer.end()

    ended.refused("frame_invalid", BAD_FRAME)
    expect_that(token not in json.dumps(ended.frames), "The refusal contains the token")
