"""Tokens of an open socket, over the network: they expire, are renewed, or belong to somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import BrowserKey

Json = dict[str, Any]


@pytest.mark.row("WSK-050")
def test_a_token_that_ends_ends_its_connection_and_a_fresh_one_opens_the_next(service: Service, shop: Shop) -> None:
    """F065: the server asks for a new token 30 seconds before the old one ends, and closes with 4419 if none comes."""
    token = shop.token(exp=shop.now + 100)
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        service.advance(71)
        assert peer.next()["type"] == "reauth"
        service.advance(30)

        assert peer.end().refusal == ("token_expired", 4419)
    assert service.try_token(token, shop.key).refusal == ("token_expired", 4419)
    assert service.try_token(shop.token(), shop.key).granted


@pytest.mark.parametrize(
    ("changes", "code", "close"),
    [
        pytest.param({"uid": "bob"}, "identity_changed", 4409, id="WSK-052-uid"),
        pytest.param({"pid": "prov_other"}, "identity_changed", 4409, id="WSK-052-pid"),
        pytest.param({"cnf": {"jkt": "A" * 43}}, "identity_changed", 4409, id="WSK-052-jkt"),
        pytest.param({"data": {"auth_provider": "google"}, "uid": "google:1"}, "token_claims", 4401, id="WSK-052-kind"),
        pytest.param({"type": "identity"}, "token_type", 4401, id="WSK-052-identity-token"),
        pytest.param({"exp": 1}, "token_expired", 4419, id="WSK-052-expired"),
    ],
)
def test_a_newer_token_of_somebody_else_ends_the_connection(
    service: Service, shop: Shop, changes: Json, code: str, close: int
) -> None:
    """F140: a token with another uid, provider, key or kind, or an expired one."""
    token = shop.token(uid="ann")
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        assert peer.ask({"type": "refresh", "token": shop.token(uid="ann")})["type"] == "refreshed"
        peer.say({"type": "refresh", "token": shop.token(**{"uid": "ann", **changes})})

        assert peer.end().refusal == (code, close)


@pytest.mark.row("WSK-052")
def test_a_visitors_token_does_not_renew_a_members(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        peer.say({"type": "refresh", "token": shop.visitor_token()})

        assert peer.end().refusal == ("identity_changed", 4409)


@pytest.mark.row("WSK-053")
def test_an_older_token_changes_nothing(service: Service, shop: Shop) -> None:
    now = shop.now
    token = shop.token(exp=now + 1000)
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted

        older = peer.ask({"type": "refresh", "token": shop.token(exp=now + 500)})
        newer = peer.ask({"type": "refresh", "token": shop.token(exp=now + 2000)})

    assert (older["expires_at"], newer["expires_at"]) == (now + 1000, now + 2000)


@pytest.mark.row("WSK-054")
def test_after_a_logout_the_same_key_is_the_visitor_again_and_not_the_member(service: Service) -> None:
    shop = service.shop()
    token, visitor = shop.token(), shop.visitor_token()
    with service.socket() as member:
        assert member.connect(token, member.prove(shop.key, token)).granted
        assert member.ask({"type": "message", "id": "m-1", "body": "As a member"})["type"] == "ack"
        member.connection.close(1000)

    with service.socket() as again:
        ready = again.connect(visitor, again.prove(shop.key, visitor)).last

        assert (ready["identity"], ready["uid"]) == ("visitor", shop.key.uid)
        assert again.ask({"type": "history", "id": "h-1"})["messages"] == []


@pytest.mark.row("WSK-055")
def test_a_socket_outlives_the_secret_and_is_renewed_with_the_next(service: Service) -> None:
    """F113: an open socket needs the new secret only with its next token, so that not all sockets reconnect at once."""
    shop = service.shop()
    token = shop.token()
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        old, shop.secret = shop.secret, b"a-new-secret-of-more-than-thirty-two-bytes"
        rotated = service.run(
            "provider", "rotate-secret", shop.id, "--overlap", "0", "--secret-env", "NEW", NEW=shop.secret.decode()
        )
        assert rotated.returncode == 0, rotated.stderr
        service.advance(61)  # by now the service's cached view of the provider has expired

        assert peer.ask({"type": "ping"})["type"] == "pong"
        assert peer.ask({"type": "refresh", "token": shop.token()})["type"] == "refreshed"
        peer.say({"type": "refresh", "token": shop.sign(shop.claims(), key=old)})
        assert peer.end().refusal == ("token_signature", 4401)


@pytest.mark.row("WSK-056")
def test_two_tabs_of_one_member_both_hear_everything(service: Service, shop: Shop) -> None:
    token = shop.token(uid="two-tabs")
    with service.socket() as one, service.socket() as other:
        for tab in (one, other):
            assert tab.connect(token, tab.prove(shop.key, token)).granted

        assert one.ask({"type": "message", "id": "m-1", "body": "From one"})["type"] == "ack"
        assert other.next()["body"] == "From one"
        assert other.ask({"type": "message", "id": "m-2", "body": "From the other"})["type"] == "ack"
        assert one.next()["body"] == "From the other"


@pytest.mark.row("WSK-058")
def test_a_name_in_a_frame_is_shown_and_makes_nobody_else_of_its_sender(
    service: Service, shop: Shop, key: BrowserKey
) -> None:
    mine, hers = shop.token(uid="mallory"), shop.token(uid="alice", cnf={"jkt": key.jkt})
    with service.socket() as mallory, service.socket() as alice:
        assert mallory.connect(mine, mallory.prove(shop.key, mine)).granted
        assert alice.connect(hers, alice.prove(key, hers)).granted
        spoofed = {"type": "message", "id": "m-1", "headers": {"name": "alice", "uid": "alice"}, "body": "I am Alice"}

        assert mallory.ask(spoofed)["type"] == "ack"
        shown = mallory.ask({"type": "history", "id": "h-1"})["messages"]

        assert [(message["sender"], message["name"]) for message in shown] == [("customer", "alice")]
        assert alice.ask({"type": "history", "id": "h-1"})["messages"] == []
    members = {member["uid"] for member in service.lab.members(shop.id)}
    assert "alice" not in members


def test_who_has_the_wrong_key_learns_nothing_of_who_exists(service: Service, key: BrowserKey) -> None:
    shop = service.shop()
    known = shop.token(uid="known")
    with service.socket() as peer:
        assert peer.connect(known, peer.prove(shop.key, known)).granted
        assert peer.ask({"type": "message", "id": "m-1", "body": "Now I am stored"})["type"] == "ack"

    answers = [service.try_token(shop.token(uid=uid), key) for uid in ("known", "nobody")]

    assert answers[0] == answers[1]
    assert answers[0].refusal == ("proof_key_mismatch", 4403)
