"""The exchange of a social login's identity token for a socket token (contract 4.3, 2.6, 5.4)."""

from __future__ import annotations

from collections.abc import Callable

from chatkey_conform.case import Family
from chatkey_conform.data import misfit
from chatkey_conform.judging.verdict import expect, expect_that
from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite.visitors import parts_of, signed_by
from chatkey_peer.key import REMOVED, BrowserKey

FAMILY = Family("exchange", "Exchange", "protocol.md#tokens")


@FAMILY.judges("4.3/exchange", "4.3/binding", "2.6/member-token", "5.4/social-exchange", "D-05/social")
def an_identity_token_is_exchanged_for_a_bound_socket_token(subject: Subject) -> None:
    """The socket token from the exchange has the member's claims, is bound to `jkt`, and is valid for 120 seconds."""
    shop = subject.shop()
    data = {"auth_provider": shop.social, "avatar": "https://shop.example/ada.png"}
    token = shop.social_token(email="ada@example.com", data=data)
    header, claims = parts_of(token)

    why = misfit("socket-token", claims)
    expect_that(not why, f"The payload of a social member's token {why}")
    expect(header.get("alg"), "HS256", "alg of a social member's token")
    expect_that(signed_by(token, shop.secret), "A social member's token is not signed with the business's secret_key")
    uid = f"{shop.social}:{shop.member}"
    expect((claims["pid"], claims["uid"], claims["type"]), (shop.id, uid, "user"), "pid, uid and type")
    expect(claims["cnf"]["jkt"], shop.key.jkt, "cnf.jkt of a social member's token")
    expect((claims.get("name"), claims.get("email")), ("Ada Lovelace", "ada@example.com"), "name and email")
    carried = {name: (claims.get("data") or {}).get(name) for name in data}
    expect(carried, data, "data of a social member's token")
    expect(claims["exp"] - claims["iat"], 120, "The lifetime in seconds of a social member's token")


@FAMILY.judges("D-10/ready", "5.4/social-exchange", "5.5/stolen-token", rows=["JWT-151"])
def a_social_member_connects_with_it_and_nobody_else_does(subject: Subject) -> None:
    """The socket token opens a socket only with the key to which it is bound."""
    shop = subject.shop()
    token = shop.social_token()
    with subject.socket() as peer:
        ready = peer.join(token, shop.key)

    expect((ready["identity"], ready["uid"]), ("member", f"{shop.social}:{shop.member}"), "identity and uid of ready")
    subject.try_token(token, BrowserKey()).refused("proof_key_mismatch", 4403)


@FAMILY.judges("D-05/social")
def a_socket_token_does_not_outlive_its_identity_token(subject: Subject) -> None:
    """The socket token does not expire later than the identity token from which it was made."""
    shop = subject.shop()
    end = shop.now + 60
    token = shop.social_token(iat=shop.now - 10, exp=end)

    expect(parts_of(token)[1].get("exp"), end, "exp of a socket token whose identity token expires in a minute")


@FAMILY.judges("D-07/bound-identity", "4.3/verifies", rows=["JWT-163"])
def an_identity_token_that_is_bound_is_exchanged_for_its_own_key_only(subject: Subject) -> None:
    """A bound identity token is refused with 401 for another `jkt`, and an unbound one is accepted for any `jkt`."""
    shop = subject.shop()
    other = BrowserKey().jkt

    shop.exchange(shop.identity_token(), other).refused(401, "token_key_mismatch")
    shop.exchange(shop.identity_token(cnf=REMOVED), other).data()
    shop.exchange(shop.identity_token()).data()


@FAMILY.judges("4.3/not-custom", "4.3/verifies", "7/auth-401", rows=["JWT-151"])
def a_socket_token_cannot_be_bound_anew(subject: Subject) -> None:
    """A socket token that is sent as `auth` is refused with 401, whether it is custom or social."""
    shop = subject.shop()
    for stolen in (shop.token(), shop.social_token()):
        for jkt in (shop.key.jkt, BrowserKey().jkt):
            shop.exchange(stolen, jkt).refused(401, "token_type")


BENT: dict[str, Callable[[str], str]] = {
    "JWT-161-42-characters": lambda jkt: jkt[:-1],
    "JWT-161-42-canonical": lambda jkt: "A" * (len(jkt) - 1),
    "JWT-161-44-characters": lambda jkt: jkt + "A",
    "JWT-161-plus": lambda jkt: "+" + jkt[1:],
    "JWT-161-space": lambda jkt: " " + jkt[1:],
    "JWT-161-not-ascii": lambda jkt: "\u00e9" + jkt[1:],
    "JWT-161-not-canonical": lambda jkt: jkt[:-1] + "B",
    "JWT-161-10-kb": lambda jkt: jkt * 238,
    "JWT-162-cyrillic": lambda jkt: "\u0430" * len(jkt),
    "JWT-162-ordinal": lambda jkt: "\u00aa" + jkt[1:],
    "JWT-162-arabic-digits": lambda jkt: "\u0663" * len(jkt),
}


@FAMILY.judges("D-03/parameter-400", "D-04/one-spelling", each=BENT)
def a_jkt_is_43_characters_of_canonical_base64url(subject: Subject, bend: Callable[[str], str]) -> None:
    """A `jkt` that is not a thumbprint is refused with 400."""
    shop = subject.shop()

    shop.exchange(shop.identity_token(), bend(shop.key.jkt)).refused(400, "parameter_invalid")


@FAMILY.judges("2.5/24h", "8/identity-24h", "7/auth-401", alone=True, needs=["clock"], rows=["JWT-156"])
def an_identity_token_ends_after_24_hours(subject: Subject) -> None:
    """An identity token is valid for 24 hours."""
    shop = subject.shop()
    token = shop.identity_token()
    subject.advance(86_400 - 60)
    shop.exchange(token).data()
    subject.advance(61)
    shop.exchange(token).refused(401, "token_expired")


@FAMILY.judges("4.4/enabled-only", alone=True, needs=["businesses", "change", "clock"], rows=["JWT-164"])
def an_identity_token_ends_with_its_social_login_and_with_the_business(subject: Subject) -> None:
    """An identity token is refused with 401 `token_revoked` if its login was switched off, and with 403 if its business
    was switched off.

    A socket token that was issued before stays valid until it expires.
    """
    shop = subject.shop_with()
    token = shop.identity_token()
    given = shop.social_token()
    logins = subject.world.logins()
    subject.change(shop, socials={name: {**login, "enabled": False} for name, login in logins.items()})
    shop.exchange(token).refused(401, "token_revoked")
    shop.exchange(token, BrowserKey().jkt).refused(401, "token_revoked")
    with subject.joined(shop, given):
        pass
    subject.change(shop, enabled=False)
    shop.exchange(token).refused(403, "provider_off")
