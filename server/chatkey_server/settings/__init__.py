"""Reads the server's settings from `CHATKEY_*`, and checks the settings before anything starts."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import msgspec

from chatkey_lab.guard import TOKEN_VARIABLE
from chatkey_protocol.names import SOCIALS
from chatkey_server.identity.origins import is_loopback_host
from chatkey_server.settings.read import MASTER_KEY_CHARS
from chatkey_server.settings.table import PREFIX, SETTINGS, Setting
from chatkey_server.settings.values import Limits, Settings, SocialAddress

__all__ = ["SETTINGS", "Limits", "Setting", "Settings", "SettingsError", "SocialAddress", "load"]

OTHERS = ("CHATKEY_BROWSER", "CHATKEY_PATIENCE", "CHATKEY_E2E_", "CHATKEY_DEMO_")
"""Names and prefixes of variables that belong to other components."""


class SettingsError(Exception):
    """A setting has an unusable value. The message names the variable and says what to write."""


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read and check the settings. An empty variable counts as not set.

    Raises `SettingsError`, which names the first variable that is wrong.
    """
    _refuse_unknown(environ)
    read = {setting.name: _read(setting, environ[setting.name]) for setting in SETTINGS if environ.get(setting.name)}
    settings = msgspec.convert(
        {
            **_members(read, Settings.__struct_fields__),
            "limits": _members(read, [field.name for field in dataclasses.fields(Limits)], "LIMIT_"),
            "socials": {
                social: members
                for social in SOCIALS
                if (members := _members(read, SocialAddress.__struct_fields__, f"{social.upper()}_"))
            },
        },
        Settings,
    )
    if not environ.get("CHATKEY_BASE_URL"):
        scheme = "https" if settings.tls_cert else "http"
        settings = msgspec.structs.replace(settings, base_url=f"{scheme}://localhost:{settings.port}")
    _check_together(settings)
    return settings


def _members(read: Mapping[str, object], fields: Iterable[str], start: str = "") -> dict[str, object]:
    names = {f"{PREFIX}{start}{field.upper()}": field for field in fields}
    return {names[name]: value for name, value in read.items() if name in names}


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    known = [setting.name for setting in SETTINGS]
    for name in environ:
        if not name.startswith(PREFIX) or name in known or name.startswith(OTHERS):
            continue
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "remove it, or look up the name in the list of settings"
        raise SettingsError(f"{name} is not a setting: {hint}")


def _read(setting: Setting, text: str) -> object:
    try:
        text.encode()
        return setting.parse(text)
    except UnicodeEncodeError:
        raise SettingsError(f"{setting.name} is not valid UTF-8; set it again") from None
    except ValueError as error:
        raise SettingsError(f"{setting.name} {error}") from None


def _check_together(settings: Settings) -> None:
    """Refuse settings that are valid alone but not in combination (D-14, D-15)."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        missing = "CHATKEY_TLS_KEY" if settings.tls_cert else "CHATKEY_TLS_CERT"
        raise SettingsError(f"{missing} is not set, but its counterpart is; set both, or neither to serve without TLS")
    if settings.lab_opens_panel:
        _check_only_here(settings)
    shared = settings.redis_url or settings.database_url.startswith("postgres")
    if shared and not settings.master_key:
        raise SettingsError(
            "CHATKEY_MASTER_KEY is not set, but the database or Redis is one that several processes share; set "
            f"it to one random key of at least {MASTER_KEY_CHARS} characters, the same for all processes"
        )


def _check_only_here(settings: Settings) -> None:
    """Refuse a lab without a token if other machines could reach the lab, directly or through a proxy (D-14)."""
    if not is_loopback_host(settings.host):
        raise SettingsError(
            "CHATKEY_LAB opens test controls to anyone, and CHATKEY_HOST is not a loopback address; set "
            f"CHATKEY_HOST=127.0.0.1, set {TOKEN_VARIABLE}, or unset CHATKEY_LAB"
        )
    if not is_loopback_host(urlsplit(settings.base_url).hostname or ""):
        raise SettingsError(
            "CHATKEY_LAB opens test controls to anyone, and CHATKEY_BASE_URL is not a loopback address; "
            f"set {TOKEN_VARIABLE}, or unset CHATKEY_LAB"
        )
    if settings.trusted_proxies:
        raise SettingsError(
            "CHATKEY_LAB opens test controls to anyone behind the proxies in CHATKEY_TRUSTED_PROXIES; "
            f"set {TOKEN_VARIABLE}, or unset CHATKEY_LAB or CHATKEY_TRUSTED_PROXIES"
        )
