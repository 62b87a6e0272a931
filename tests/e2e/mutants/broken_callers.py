"""Endpoints that are wrong for some callers only: another person, a visitor, whoever comes after somebody else."""

from __future__ import annotations

from typing import Any

from mutant_backend import BROKEN, Backend, Claims, compact, register, with_claims, without

broken = register(BROKEN)


# what is wrong with the second login alone


def for_bo(name: str, change: Any) -> None:
    """Keep a backend whose claims are changed for one of two persons."""
    with_claims(BROKEN, name, lambda claims: change(claims) if claims["name"] == "Bo Okafor" else claims)


for_bo("second-login-no-cnf", lambda claims: without(claims, "cnf"))
for_bo("second-login-no-iat", lambda claims: without(claims, "iat"))
for_bo("second-login-nbf", lambda claims: {**claims, "nbf": claims["iat"] + 900})
for_bo("second-login-exp-text", lambda claims: {**claims, "exp": str(claims["exp"])})
for_bo("second-login-exp-ms", lambda claims: {**claims, "exp": claims["exp"] * 1000})
for_bo("second-login-old-iat", lambda claims: {**claims, "iat": claims["iat"] - 86_400})
for_bo("second-login-avatar", lambda claims: {**claims, "avatar": "/media/bo.png"})
for_bo("second-login-name", lambda claims: {**claims, "name": "undefined"})
for_bo("second-login-hash", lambda claims: {**claims, "password_hash": "5f4dcc3b5aa765d61d8327deb882cf99"})
for_bo("second-login-uid-email", lambda claims: {**claims, "uid": claims["email"]})
for_bo("second-login-uid-social", lambda claims: {**claims, "uid": f"google:{claims['uid']}"})
for_bo("second-login-large", lambda claims: {**claims, "roles": [f"role-{number:03}" for number in range(400)]})


@broken("second-login-latin1")
class SecondLoginLatin1(Backend):
    """Writes claims in Latin-1, which shows on names that are not ASCII."""

    def payload(self, claims: Claims) -> bytes:
        return compact({**claims, "name": "Bö"} if claims["name"] == "Bo Okafor" else claims).decode().encode("latin-1")


@broken("second-login-prefix")
class SecondLoginPrefix(Backend):
    def token(self, person: Claims, jkt: Any) -> Any:
        token = super().token(person, jkt)
        return f"Bearer {token}" if person["name"] == "Bo Okafor" else token


@broken("second-login-header")
class SecondLoginHeader(Backend):
    def token(self, person: Claims, jkt: Any) -> Any:
        more = {"zip": "DEF"} if person["name"] == "Bo Okafor" else {}
        return self.signed({**self.header(), **more}, self.claims(person, jkt))
