"""A virtual authenticator for sites that accept only passkeys. A file keeps the keys between runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

from chatkey_check.target import OptionError
from chatkey_stack.private import write_private

OPTIONS: Final = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}
"""A built-in authenticator whose user is present and consents to everything (Chrome DevTools Protocol, WebAuthn)."""


def attached(page: Page, file: Path) -> None:
    """Add an authenticator with the keys of a file to a page, and save changed keys in the file.

    Only the owner can read the file, because the file is as sensitive as a password. Raises `OptionError` if the file
    does not contain passkeys or cannot be written.
    """
    kept = {str(one["credentialId"]): one for one in _read(file)}
    _write(file, list(kept.values()))
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    authenticator = session.send("WebAuthn.addVirtualAuthenticator", {"options": OPTIONS})["authenticatorId"]
    for credential in kept.values():
        session.send("WebAuthn.addCredential", {"authenticatorId": authenticator, "credential": credential})

    def keep(event: dict[str, Any]) -> None:
        kept[str(event["credential"]["credentialId"])] = event["credential"]
        _write(file, list(kept.values()))

    for name in ("WebAuthn.credentialAdded", "WebAuthn.credentialAsserted"):
        session.on(name, keep)


def _write(file: Path, passkeys: list[dict[str, Any]]) -> None:
    try:
        write_private(file, json.dumps(passkeys))
    except OSError as error:
        raise OptionError(f"Cannot write --passkeys {file}: {error.strerror}.") from error


def _read(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionError(f"Cannot read --passkeys {file}: {error}") from error
    if not isinstance(found, list) or not all(
        isinstance(one, dict) and {"credentialId", "privateKey"} <= one.keys() for one in found
    ):
        raise OptionError(
            f"--passkeys {file} contains no passkeys. Delete the file, and the next run creates a new one."
        )
    return found
