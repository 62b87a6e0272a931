"""The basic behaviour on which all other cases depend. If none of these cases passes, the adapter does not work."""

from __future__ import annotations

import threading
from typing import Final

from chatkey_conform.case import Family
from chatkey_conform.data import misfit
from chatkey_conform.judging.verdict import expect, expect_that
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import BrowserKey

FAMILY = Family("smoke", "Smoke", "protocol.md#endpoints")
TICKS: Final = 12
TICK: Final = 0.1


@FAMILY.judges("4/paths", "4.1/content", "2.2/members", "1/data")
def the_configuration_is_answered(subject: Subject) -> None:
    """The configuration of a business is returned and matches the schema."""
    answer = subject.get(subject.shop().path)

    answer.data()
    why = misfit("configuration", answer.json())
    expect_that(not why, f"The configuration {why}")


@FAMILY.judges("4.2/visitor", "5.2/visitor", "2.6/answer")
def a_visitor_is_given_a_token(subject: Subject) -> None:
    """A visitor gets a token for a uid."""
    expect(subject.shop().visitor_token().count("."), 2, "The number of dots in a visitor token")


@FAMILY.judges("1/mode-visitor", "D-10/ready", page="socket.md#opening")
def a_visitor_connects(subject: Subject) -> None:
    """A visitor connects with a visitor token and a proof that is signed with the browser's key."""
    shop = subject.shop()
    token = shop.visitor_token()
    with subject.socket() as peer:
        subject.world.learn_time(peer.hello.get("server_time", 0))
        ready = peer.join(token, shop.key)
        for _ in range(TICKS):  # the service sends whole seconds, so the best answer is sent just after a second begins
            subject.world.learn_time(peer.granted({"type": "ping"}, "pong")["server_time"])
            threading.Event().wait(TICK)

    expect((ready["identity"], ready["uid"]), ("visitor", shop.key.uid), "identity and uid of ready")


@FAMILY.judges("1/mode-custom", "D-10/ready", page="socket.md#opening")
def a_custom_token_is_accepted(subject: Subject) -> None:
    """A member connects with a token that the business's backend signed."""
    shop = subject.shop()
    with subject.socket() as peer:
        ready = peer.join(shop.token(), shop.key)

    expect((ready["identity"], ready["uid"]), ("member", shop.member), "identity and uid of ready")


@FAMILY.judges("2.4/hs256", page="protocol.md#how-a-token-is-read")
def a_wrong_signature_is_refused(subject: Subject) -> None:
    """A token signed with a wrong secret is refused."""
    shop = subject.shop()

    subject.try_token(shop.sign(shop.claims(), key=b"k" * 40), shop.key).refused("token_signature", 4401)


@FAMILY.judges("5.5/stolen-token", "7/proof-mismatch", page="socket.md#order-of-checks")
def a_stolen_token_is_refused(subject: Subject) -> None:
    """A member's token is refused if the proof is signed with another key."""
    shop = subject.shop()

    subject.try_token(shop.token(), BrowserKey()).refused("proof_key_mismatch", 4403)
