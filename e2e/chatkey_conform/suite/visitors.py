"""Visitor tokens: the claims, the key with which they are signed, and how long they are valid."""

from __future__ import annotations

import hmac
import json

from chatkey_conform.case import Family
from chatkey_conform.data import misfit
from chatkey_conform.judging.verdict import Broken, expect, expect_that
from chatkey_conform.making.honest import Maker
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import Json, unb64

FAMILY = Family("visitors", "Visitors", "protocol.md#tokens")


def parts_of(token: str) -> tuple[Json, Json]:
    """Return the header and the claims of a token that the service issued. Raises `Broken`."""
    try:
        header, claims = (json.loads(unb64(part)) for part in token.split(".")[:2])
    except ValueError:
        raise Broken("A token issued by the service is not a JWT") from None
    expect_that(
        isinstance(header, dict) and isinstance(claims, dict),
        "Header or claims of an issued token are not a JSON object",
    )
    return header, claims


def signed_by(token: str, key: bytes) -> bool:
    """Return whether a token's MAC was made with this key."""
    signed, _, signature = token.rpartition(".")
    return hmac.compare_digest(Maker().b64(Maker().mac(signed, key)), signature)


@FAMILY.judges("4.2/visitor", "D-05/visitor", "2.6/visitor-time")
def a_visitor_token_is_what_the_page_says(subject: Subject) -> None:
    """A visitor token has the required claims, ends with the next minute, and is signed with the key of its minute."""
    shop = subject.shop()
    token = shop.visitor_token()
    header, claims = parts_of(token)

    why = misfit("visitor-token", claims)
    expect_that(not why, f"The payload of a visitor token {why}")
    expect(header.get("alg"), "HS256", "alg of a visitor token")
    expect((claims["pid"], claims["uid"]), (shop.id, shop.key.uid), "pid and uid of a visitor token")
    expect(claims["exp"], (claims["iat"] // 60 + 2) * 60, "exp of a visitor token")
    expect_that(
        abs(claims["iat"] - subject.now()) < 60,
        "iat of a visitor token differs from the service's time by 60 s or more",
    )
    signed_by_its_minute(shop, token)


def signed_by_its_minute(shop: Shop, token: str) -> None:
    """Check that a visitor token is signed with the key of the minute in which it was issued. Raises `Broken`."""
    iat = parts_of(token)[1].get("iat")
    expect_that(isinstance(iat, int), "A visitor token has no iat")
    by_minute = signed_by(token, Maker().minute_key(shop.secret, int(iat or 0)))
    expect_that(by_minute, "A visitor token is not signed with HMAC-SHA256(secret_key, HH:MM of iat in UTC)")


@FAMILY.judges("2.6/visitor-time", "D-05/visitor", alone=True, needs=["clock"], each={"hour": 10, "afternoon": 13})
def hours_and_minutes_of_a_visitors_key_have_two_digits(subject: Subject, hour: int) -> None:
    """The key of a minute is derived from `HH:MM` in 24-hour time, with leading zeros."""
    shop = subject.shop()
    at = (hour * 60 - 55) * 60
    subject.advance((at - subject.now()) % 86_400)

    signed_by_its_minute(shop, shop.visitor_token())


@FAMILY.judges("2.3/uid-derived", "D-04/uid")
def ready_tells_the_visitors_uid(subject: Subject) -> None:
    """`ready` contains the token's `exp` and the visitor's uid. The uid is `v_` followed by the key's thumbprint."""
    shop = subject.shop()
    token = shop.visitor_token()
    with subject.socket() as peer:
        ready = peer.join(token, shop.key)

    expect(ready["uid"], f"v_{shop.key.jkt}", "uid of ready")
    expect(ready["identity"], "visitor", "identity of ready")
    expect(ready["expires_at"], parts_of(token)[1].get("exp"), "expires_at of ready")


@FAMILY.judges("4.2/not-for-members", "4.3/verifies", "D-05/kinds-apart", rows=["JWT-153"])
def a_visitor_token_makes_nobody_a_member(subject: Subject) -> None:
    """A visitor token is refused as `auth`."""
    shop = subject.shop()
    _ = shop.social

    shop.exchange(shop.visitor_token()).refused(401, "token_signature")


@FAMILY.judges("D-05/visitor", "2.6/visitor-time", each={"before": -60, "after": 60}, rows=["HTP-048"])
def a_visitor_token_under_the_key_of_another_minute_is_refused(subject: Subject, off: int) -> None:
    """A visitor token signed with another minute's key is refused."""
    shop = subject.shop()
    claims = shop.visitor_claims()
    forged = shop.sign(claims, key=Maker().minute_key(shop.secret, claims["iat"] + off))

    subject.try_token(forged, shop.key).refused("token_signature", 4401)


@FAMILY.judges("D-05/visitor", "2.3/uid-derived", "D-04/uid")
def a_visitors_uid_begins_with_its_letter(subject: Subject) -> None:
    """A visitor token whose uid is the thumbprint without `v_` is refused."""
    shop = subject.shop()
    claims = shop.visitor_claims(uid=shop.key.jkt)
    forged = shop.sign(claims, key=Maker().minute_key(shop.secret, claims["iat"]))

    subject.try_token(forged, shop.key).refused("token_claims", 4401)


@FAMILY.judges("D-05/visitor", "2.6/visitor-time", rows=["JWT-128"])
def a_visitor_token_by_the_secret_itself_is_refused(subject: Subject) -> None:
    """A visitor token signed with the secret itself is refused."""
    shop = subject.shop()

    subject.try_token(shop.sign(shop.visitor_claims()), shop.key).refused("token_signature", 4401)


@FAMILY.judges(
    "D-05/visitor",
    "2.6/visitor-time",
    alone=True,
    needs=["clock"],
    each=("an ordinary minute", "midnight"),
    rows=["HTP-048"],
)
def a_visitor_token_lives_to_the_end_of_the_minute_after_its_own(subject: Subject, hour: str) -> None:
    """A visitor token is valid until the end of the next minute.

    A day later it is invalid, although the key is the same.
    """
    span = 86_400 if hour == "midnight" else 60
    shop = subject.shop()
    subject.advance((span - 12 - subject.now()) % span)
    token = shop.visitor_token()
    end = parts_of(token)[1].get("exp", 0)

    subject.advance(max(0.0, end - 20 - subject.now()))
    with subject.socket() as peer:
        peer.join(token, shop.key)
    subject.advance(max(0.0, end + 1 - subject.now()))
    subject.try_token(token, shop.key).refused("token_expired", 4419)
    subject.advance(86_400 - 60)
    subject.try_token(token, shop.key).refused("token_expired", 4419)


@FAMILY.judges("D-05/visitor", alone=True, needs=["clock"], rows=["HTP-048"])
def a_visitor_token_of_a_minute_that_has_not_come_is_refused(subject: Subject) -> None:
    """A visitor token for the next minute is refused until that minute."""
    shop = subject.shop()
    subject.advance((20 - subject.now()) % 60)
    soon = (shop.now // 60 + 1) * 60
    claims = shop.visitor_claims(iat=soon, exp=soon + 60)

    forged = shop.sign(claims, key=Maker().minute_key(shop.secret, soon))
    subject.try_token(forged, shop.key).refused("token_not_yet_valid", 4401)


@FAMILY.judges("2.7/history-apart", "1/logout-visitor", rows=["WSK-054", "OAC-065"])
def what_a_visitor_wrote_is_not_the_members(subject: Subject) -> None:
    """The conversations of a visitor and of a member in the same browser are separate."""
    shop = subject.shop()
    with subject.joined(shop, shop.visitor_token()) as visitor:
        visitor.granted({"type": "message", "id": "m-1", "body": "As a visitor"}, "ack")
    with subject.joined(shop) as member:
        seen = member.granted({"type": "history", "id": "h-1"}, "history")["messages"]
        member.granted({"type": "message", "id": "m-1", "body": "As a member"}, "ack")
    with subject.joined(shop, shop.visitor_token()) as again:
        found = again.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect(seen, [], "The member's history after the visitor's message")
    expect([message["body"] for message in found], ["As a visitor"], "The visitor's history after the member's message")


@FAMILY.judges("2.7/history-apart", "D-11/keyed", rows=["JWT-127"])
def a_member_called_like_a_visitor_does_not_see_the_visitors_conversation(subject: Subject) -> None:
    """A custom member whose `uid` is a visitor's uid does not see the visitor's conversation."""
    shop = subject.shop()
    with subject.joined(shop, shop.visitor_token()) as visitor:
        visitor.granted({"type": "message", "id": "m-1", "body": "a secret"}, "ack")
    with subject.joined(shop, shop.token(uid=shop.key.uid)) as member:
        seen = member.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect(seen, [], "The history of a member with the visitor's uid")
