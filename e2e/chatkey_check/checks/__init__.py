"""The checks, with one module for each check, named after the check's id."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from chatkey_check.judging.check import Check

ORDER: Final = (
    "net.resolves",
    "net.tls",
    "net.same-origin",
    "net.session-works",
    "net.latency",
    "net.steady",
    "net.clock",
    "req.post-json",
    "req.no-redirect",
    "resp.json-object",
    "resp.content-type",
    "resp.session-kept",
    "jwt.compact",
    "jwt.alg",
    "jwt.signature",
    "jwt.header-clean",
    "jwt.payload",
    "jwt.size",
    "claim.cnf",
    "claim.jkt-match",
    "claim.jkt-follows",
    "conc.isolated",
    "req.body-wins",
    "claim.pid",
    "claim.type",
    "claim.uid",
    "claim.uid-stable",
    "claim.uid-distinct",
    "claim.uid-reserved",
    "claim.uid-pii",
    "auth.body-ignored",
    "auth.query-ignored",
    "auth.header-ignored",
    "auth.cookie-ignored",
    "auth.session-in-address",
    "auth.token-no-login",
    "claim.exp-type",
    "claim.exp-absolute",
    "claim.lifetime",
    "claim.iat",
    "claim.nbf",
    "claim.exp-iat",
    "claim.fresh",
    "claim.renew",
    "anon.json-object",
    "anon.null",
    "anon.status-200",
    "anon.no-redirect",
    "anon.no-5xx",
    "anon.latency",
    "anon.garbage-session",
    "anon.must-refuse",
    "anon.after-logout",
    "req.jkt-missing",
    "req.jkt-type",
    "req.jkt-format",
    "req.bad-json",
    "req.content-type",
    "req.get-refused",
    "req.extra-ignored",
    "req.big-body",
    "resp.no-secret",
    "page.no-secret",
    "resp.cors",
    "resp.no-store",
    "resp.no-token-elsewhere",
    "claim.no-sensitive",
    "claim.display",
    "claim.avatar",
    "secret.strength",
    "auth.cross-site",
    "e2e.socket-accepts",
    "e2e.socket-refuses-other-key",
    "e2e.widget-member",
    "e2e.widget-reload",
    "e2e.widget-renew",
    "e2e.widget-logout",
)
"""The ids in the order in which a developer debugs. Every report uses this order."""


@cache
def load() -> tuple[Check, ...]:
    """Import every check, in order."""
    return tuple(map(load_one, ORDER))


def load_one(check_id: str) -> Check:
    """Import one check. Raises `KeyError` if there is no check with this id."""
    if check_id not in ORDER:
        raise KeyError(check_id)
    module = import_module(f"{__name__}.{module_name(check_id)}")
    (found,) = (value for value in vars(module).values() if isinstance(value, Check))
    return found


def module_name(check_id: str) -> str:
    """Return the name of the module that holds a check."""
    return check_id.replace(".", "_").replace("-", "_")
