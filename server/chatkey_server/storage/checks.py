"""Checks single values that an administrator sets. Every refusal names the member and what the value must be."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.providers import Application
from chatkey_server.storage.text import fit

SECRET_BYTES: Final = 32
"""The minimum length of an HS256 secret (RFC 7518 3.2)."""
PKCS8: Final = "-----BEGIN PRIVATE KEY-----"
KEY_CHARS: Final = {"team_id": 32, "key_id": 32, "p8": 8192}
"""The maximum length of an application's members, in characters. All others have 255."""


def invalid(member: str, reason: str) -> Refused:
    return Refused(Code.PARAMETER_INVALID, f"{member} {reason}.", member=member)


def signing_secret(secret_key: str | None) -> str:
    """Return the given secret after checking it, or a new one if none was given."""
    if secret_key is None:
        return secrets.token_urlsafe(48)
    if secret_key.lstrip().startswith("-----BEGIN"):
        raise invalid("secret_key", "is a PEM key; HS256 needs a random text that both sides share")
    if secret_key != secret_key.strip():
        raise invalid("secret_key", "begins or ends with white space, which is easily lost when it is copied")
    if len(secret_key.encode()) < SECRET_BYTES:
        raise invalid("secret_key", f"must have at least {SECRET_BYTES} bytes")
    return secret_key


def check_application(social: str, application: Application) -> None:
    """Refuse keys that are incomplete, that do not belong together, or that cannot sign."""
    if social not in SOCIALS:
        raise Refused(Code.SOCIAL_UNKNOWN, f"There is no social provider {social!r}.", member="social")
    for member, value in msgspec.structs.asdict(application).items():
        if value:
            check_text(member, value, KEY_CHARS.get(member, 255))
    needed = _needed(social)
    for member in needed:
        if not getattr(application, member):
            raise invalid(member, f"is missing; the keys of {social} are incomplete without it")
    for member, value in msgspec.structs.asdict(application).items():
        if value and member not in needed:
            raise invalid(member, f"is not part of the keys of {social}, which are {', '.join(needed)}; omit it")
    if application.p8 and not _is_signing_key(application.p8):
        raise invalid(
            "p8", "is not an unencrypted P-256 private key in PKCS#8 form; use the complete .p8 file unchanged"
        )


def _needed(social: str) -> tuple[str, ...]:
    """Return the members that an application must have. Apple's client secret is made from `p8` (contract 2.1)."""
    return ("client_id", "team_id", "key_id", "p8") if social == "apple" else ("client_id", "client_secret")


def _is_signing_key(p8: str) -> bool:
    if not p8.lstrip().startswith(PKCS8):
        return False
    try:
        key = load_pem_private_key(p8.encode(), password=None)
    except (ValueError, TypeError):
        return False
    return isinstance(key, EllipticCurvePrivateKey) and key.curve.name == "secp256r1"


def check_text(member: str, value: object, most: int, least: int = 1) -> None:
    """Refuse a value that is not text, or that is too long, too short, or not storable."""
    if not isinstance(value, str) or not least <= len(value) <= most or value != fit(value, most):
        raise invalid(member, f"must be {least} to {most} characters of text")


def _check_title(member: str, value: object) -> None:
    check_text(member, value, 255)


def _check_greeting(member: str, value: object) -> None:
    check_text(member, value, 2000, least=0)


def _check_switch(member: str, value: object) -> None:
    if not isinstance(value, bool):
        raise invalid(member, "must be true or false")


def _check_pattern(pattern: str, wanted: str) -> Callable[[str, object], None]:
    def check(member: str, value: object) -> None:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise invalid(member, f"must be {wanted}")

    return check


CHECKS: Final[dict[str, Callable[[str, object], None]]] = {
    "name": _check_title,
    "enabled": _check_switch,
    "restrict_socket_origins": _check_switch,
    "livechat_enabled": _check_switch,
    "livechat_title": _check_title,
    "livechat_greeting": _check_greeting,
    "service_enabled": _check_switch,
    "service_title": _check_title,
    "service_greeting": _check_greeting,
    "ui_colour": _check_pattern("#[0-9a-fA-F]{6}", "a colour such as #4f46e5"),
    "ui_position": _check_pattern("left|right", "'left' or 'right'"),
    "ui_locale": _check_pattern(
        "([a-z]{2,3}(-[A-Za-z0-9]{2,8})?)?", "a language such as en or pt-BR, or empty for the visitor's own"
    ),
}
"""How each member of `ProviderChanges` is checked."""
