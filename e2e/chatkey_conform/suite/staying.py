"""Open sockets whose token expires, is refreshed, or is replaced with an unsuitable token."""

from __future__ import annotations

import threading
import time
from typing import Any, Final

from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import expect, expect_that
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import REMOVED, BrowserKey

FAMILY = Family("staying", "Staying on the socket", "socket.md#staying")
REAUTH: Final = 30
SOON: Final = 6
SLOP: Final = 3.0
"""Seconds of tolerance: times are whole seconds, and frames take time to arrive."""


@FAMILY.judges("D-10/reauth")
def a_token_is_asked_for_30_seconds_before_its_end(subject: Subject) -> None:
    """`reauth` is sent 30 seconds before the token expires, and `deadline` is the time at which the token expires."""
    shop = subject.shop()
    with subject.socket() as peer:
        end = shop.now + 37
        ready = peer.join(shop.token(exp=end), shop.key)
        begun = time.monotonic()
        asked = peer.next()
        waited = time.monotonic() - begun

    expect(
        (asked["type"], asked.get("deadline")),
        ("reauth", end),
        "type and deadline of the frame 30 seconds before the token expires",
    )
    due = end - REAUTH - ready["server_time"]
    expect_that(waited > due - SLOP, f"reauth arrived after {waited:.0f} s, expected {due} s")
    expect_that(waited < due + 5 * SLOP, f"reauth arrived after {waited:.0f} s, expected {due} s")


@FAMILY.judges("D-10/reauth")
def a_token_with_little_left_is_asked_for_at_once_and_so_is_the_next(subject: Subject) -> None:
    """If a token is valid for less than 30 seconds, `reauth` is sent at once, also after a refresh."""
    shop = subject.shop()
    with subject.socket() as peer:
        peer.join(shop.token(exp=shop.now + 24), shop.key)
        first = peer.next()
        refreshed = peer.ask({"type": "refresh", "token": shop.token(exp=shop.now + 27)})
        again = peer.next()

    expect(
        [frame["type"] for frame in (first, refreshed, again)],
        ["reauth", "refreshed", "reauth"],
        "The types of the frames",
    )
    expect(again["deadline"], refreshed["expires_at"], "deadline of the second reauth")


@FAMILY.judges("D-10/reauth", "D-10/close-codes", "2.4/exp", rows=["WSK-050"])
def a_token_that_ends_is_closed_in_real_time(subject: Subject) -> None:
    """When a token expires, the connection is closed with 4419."""
    shop = subject.shop()
    with subject.socket() as peer:
        peer.join(shop.token(exp=shop.now + 6), shop.key)
        expect(peer.next()["type"], "reauth", "type of the frame before the token expires")
        peer.end().refused("token_expired", 4419)


@FAMILY.judges("D-10/refresh", "D-10/reauth")
def a_connection_that_was_renewed_outlives_its_first_token(subject: Subject) -> None:
    """After `refreshed`, the connection stays open when the first token expires."""
    shop = subject.shop()
    with subject.socket() as peer:
        end = shop.now + SOON
        peer.join(shop.token(exp=end), shop.key)
        peer.granted({"type": "refresh", "token": shop.token()}, "refreshed")
        threading.Event().wait(max(0.0, end + SLOP - subject.now()))
        peer.granted({"type": "ping"}, "pong")


@FAMILY.judges("D-10/refresh", "D-10/reauth", "2.4/exp")
def a_connection_that_was_renewed_ends_with_its_newer_token(subject: Subject) -> None:
    """After `refreshed`, the connection ends with the newer token, even after a `refresh` with an older token."""
    shop = subject.shop()
    with subject.socket() as peer:
        end = shop.now + 2 * SOON
        peer.join(shop.token(exp=end - 4), shop.key)
        peer.granted({"type": "refresh", "token": shop.token(exp=end)}, "refreshed")
        peer.granted({"type": "refresh", "token": shop.token(exp=end - SOON)}, "refreshed")
        threading.Event().wait(max(0.0, end - SOON + 1 - subject.now()))
        peer.granted({"type": "ping"}, "pong")
        ended = peer.end(SOON)
        late = subject.now() - end

    kinds = [frame.get("code", frame["type"]) for frame in ended.frames if frame["type"] != "reauth"]
    expect((kinds, ended.close), (["token_expired"], 4419), "Codes and close code when the newer token expires")
    expect_that(late > -SLOP, f"The connection ended {-late:.0f} s before its token expired")


@FAMILY.judges("D-10/reauth", "D-10/refresh")
def a_refresh_that_changes_nothing_asks_for_nothing(subject: Subject) -> None:
    """`reauth` is sent again only after a `refreshed` with a new expiry time."""
    shop = subject.shop()
    token = shop.token(exp=shop.now + 24)
    with subject.joined(shop, token) as peer:
        asked = peer.next()
        peer.granted({"type": "refresh", "token": token}, "refreshed")
        peer.say({"type": "ping"})
        heard = peer.next()

    expect((asked["type"], heard["type"]), ("reauth", "pong"), "The types of the frames before and after `refreshed`")


CHANGED: dict[str, tuple[dict[str, Any], str, int]] = {
    "unbound": ({"cnf": REMOVED}, "proof_binding_missing", 4403),
    "not-yet": ({"nbf": 9_000_000_000}, "token_not_yet_valid", 4401),
    "for-a-day": ({"exp": 9_000_000_000}, "token_claims", 4401),
    "WSK-052-uid": ({"uid": "bob"}, "identity_changed", 4409),
    "WSK-052-pid": ({"pid": "prov_other"}, "identity_changed", 4409),
    "WSK-052-jkt": ({"cnf": {"jkt": "A" * 43}}, "identity_changed", 4409),
    "WSK-052-kind": ({"data": {"auth_provider": "google"}, "uid": "google:1"}, "token_claims", 4401),
    "WSK-052-identity-token": ({"type": "identity"}, "token_type", 4401),
    "WSK-052-expired": ({"exp": 1}, "token_expired", 4419),
}


@FAMILY.judges("D-10/refresh", "D-10/close-codes", each=CHANGED, rows=["F140"])
def a_newer_token_of_somebody_else_ends_the_connection(
    subject: Subject, changes: dict[str, Any], code: str, close: int
) -> None:
    """A `refresh` with an invalid token, or with a token for another business, uid or key, ends the connection."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        peer.granted({"type": "refresh", "token": shop.token()}, "refreshed")
        peer.say({"type": "refresh", "token": shop.token(**changes)})
        peer.end().refused(code, close)


@FAMILY.judges(
    "D-10/refresh", "D-10/frame-schema", each={"missing": {}, "number": {"token": 5}, "null": {"token": None}}
)
def a_refresh_without_a_token_is_no_frame(subject: Subject, members: dict[str, Any]) -> None:
    """A `refresh` whose token is not a string is refused with `frame_invalid`."""
    with subject.joined(subject.shop()) as peer:
        peer.say({"type": "refresh", **members})
        peer.end().refused("frame_invalid", 4400)


@FAMILY.judges("D-10/refresh", rows=["WSK-052"])
def a_refresh_by_another_secret_ends_the_connection(subject: Subject) -> None:
    """A `refresh` with a token signed with another secret is refused."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        peer.say({"type": "refresh", "token": shop.sign(shop.claims(), key=b"k" * 40)})
        peer.end().refused("token_signature", 4401)


@FAMILY.judges("D-10/refresh", rows=["WSK-052"])
def a_visitors_token_does_not_renew_a_members(subject: Subject) -> None:
    """A `refresh` with a visitor's token on a member's connection is refused with `identity_changed`."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        peer.say({"type": "refresh", "token": shop.visitor_token()})
        peer.end().refused("identity_changed", 4409)


@FAMILY.judges("D-10/refresh", "D-05/login")
def a_social_members_token_does_not_renew_a_custom_members(subject: Subject) -> None:
    """A `refresh` with a social login's token is refused for a custom member of the same `uid`."""
    shop = subject.shop()
    uid = f"{shop.social}:{shop.member}"
    social = shop.social_token(data={"auth_provider": shop.social})
    with subject.joined(shop, shop.token(uid=uid)) as peer:
        peer.say({"type": "refresh", "token": social})
        peer.end().refused("identity_changed", 4409)


@FAMILY.judges("D-10/refresh", "D-03/provider-off", alone=True, needs=["businesses", "change", "clock"])
def a_refresh_at_a_business_that_was_switched_off_is_refused(subject: Subject) -> None:
    """If the business has been switched off, the next `refresh` is refused with `provider_off`."""
    shop = subject.shop_with()
    with subject.joined(shop) as peer:
        subject.change(shop, enabled=False)
        peer.say({"type": "refresh", "token": shop.token()})
        peer.end().refused("provider_off", 4403)


@FAMILY.judges("D-10/refresh", rows=["WSK-053"])
def an_older_token_changes_nothing(subject: Subject) -> None:
    """A `refresh` with a token that expires sooner is answered with the `expires_at` of the current token."""
    shop = subject.shop()
    now = shop.now
    with subject.joined(shop, shop.token(exp=now + 1000)) as peer:
        older = peer.granted({"type": "refresh", "token": shop.token(exp=now + 500)}, "refreshed")
        newer = peer.granted({"type": "refresh", "token": shop.token(exp=now + 2000)}, "refreshed")

    expect(
        (older["expires_at"], newer["expires_at"]), (now + 1000, now + 2000), "expires_at of the two `refreshed` frames"
    )


@FAMILY.judges("D-10/refresh", "8/refresh-50")
def a_visitors_token_is_renewed(subject: Subject) -> None:
    """A new visitor token refreshes a visitor's connection."""
    shop = subject.shop()
    with subject.joined(shop, shop.visitor_token()) as peer:
        peer.granted({"type": "refresh", "token": shop.visitor_token()}, "refreshed")


@FAMILY.judges("D-10/refresh", "8/refresh-50")
def a_social_members_token_is_renewed(subject: Subject) -> None:
    """A new socket token refreshes a social member's connection."""
    shop = subject.shop()
    data = {"auth_provider": shop.social}
    with subject.joined(shop, shop.social_token(data=data)) as peer:
        peer.granted({"type": "refresh", "token": shop.social_token(data=data)}, "refreshed")


@FAMILY.judges("D-10/hello", page="socket.md#staying")
def a_ping_is_answered_with_the_services_time(subject: Subject) -> None:
    """`ping` is answered with `pong` and the service's time."""
    with subject.joined(subject.shop()) as peer:
        pong = peer.granted({"type": "ping"}, "pong")

    expect_that(
        abs(pong["server_time"] - subject.now()) < 60,
        "server_time of pong differs from the service's time by 60 s or more",
    )


@FAMILY.judges("5.5/proof-matches", "D-10/checks")
def who_has_the_wrong_key_learns_nothing_of_who_exists(subject: Subject) -> None:
    """If the key is wrong, the refusal does not depend on whether the member exists."""
    shop = subject.shop()
    with subject.joined(shop) as peer:
        peer.granted({"type": "message", "id": "m-1", "body": "Now I am stored"}, "ack")
    answers = [subject.try_token(shop.token(uid=uid), BrowserKey()) for uid in (shop.member, f"{shop.member}-no")]

    for answer in answers:
        answer.refused("proof_key_mismatch", 4403)
