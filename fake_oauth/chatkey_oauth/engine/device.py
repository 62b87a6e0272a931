"""The device flow (RFC 8628): a device polls with a device code, and a person types the user code and approves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from chatkey_oauth.engine import authorize, pages
from chatkey_oauth.engine.grants import Device, Grant
from chatkey_oauth.engine.hooks import UNTOUCHED
from chatkey_oauth.engine.reading import is_visible, split_scopes
from chatkey_oauth.engine.refusals import Reason, ShownToPerson, SlowDown, TokenRefused
from chatkey_oauth.engine.requests import AuthorizationRequest, Decision
from chatkey_oauth.engine.token import issue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.http import Answer

DEVICE_CODE: Final = "urn:ietf:params:oauth:grant-type:device_code"
LIFE: Final = 900
INTERVAL: Final = 5
SLOWER: Final = 5
"""The seconds that are added to the interval each time a device polls too early."""

LEEWAY: Final = 0.5
"""The seconds by which a poll may be early, because clocks and network delays differ."""

BAD_CODE: Final = "No waiting device has this code. Check the code, or request a new one on the device."


def begin(provider: Dialect, client: Client, params: Mapping[str, str]) -> tuple[str, Device]:
    """Start a device flow. Return the device code, and the waiting device with its user code."""
    device = Device(
        client_id=client.client_id,
        scopes=tuple(filter(is_visible, split_scopes(params.get("scope", "")))),
        user_code=provider.new_user_code(),
        expires_at=provider.world.clock() + LIFE,
        interval=INTERVAL,
    )
    device_code = provider.new_device_code()
    provider.grants.devices.put(device_code, device)
    return device_code, device


# The device


def by_device_code(provider: Dialect, client: Client, device_code: str) -> Issued:
    """Answer a poll (RFC 8628 3.5). After the approval, return a token once."""
    device = provider.grants.devices.get(device_code)
    if device is None or device.client_id != client.client_id:
        raise TokenRefused(Reason.DEVICE_CODE, "device_code")
    if device.expires_at <= provider.world.clock():
        raise TokenRefused(Reason.DEVICE_EXPIRED, "device_code")
    if provider.paces_devices:
        pace(device, provider.world.clock())
    if device.denied:
        raise TokenRefused(Reason.DEVICE_DENIED, "device_code")
    grant = device.grant or unasked(provider, device)
    if grant is None:
        raise TokenRefused(Reason.DEVICE_PENDING, "device_code")
    provider.before_issue(grant)
    provider.grants.devices.pop(device_code)
    return issue(provider, grant, provider.new_refresh_token() if grant.refreshable else None)


def pace(device: Device, now: float) -> None:
    """Refuse a poll that is earlier than the interval allows, even if the device has been approved."""
    too_early = device.polled_at is not None and now - device.polled_at < device.interval - LEEWAY
    device.polled_at = now
    if too_early:
        device.interval += SLOWER
        raise SlowDown(device.interval)


def is_approved(provider: Dialect, device_code: str) -> bool:
    """Return whether the device has been approved by a person or by automatic approval."""
    device = provider.grants.devices.get(device_code)
    return device is not None and (device.grant is not None or provider.world.approval.person("") is not None)


def was_given(provider: Dialect, params: Mapping[str, str]) -> bool:
    """Return whether a request refreshes a token of the device flow. Such a request has no redirect URI."""
    issued = provider.grants.refresh.get(params.get("refresh_token", ""))
    return issued is not None and not issued.grant.redirect_uri


def unasked(provider: Dialect, device: Device) -> Grant | None:
    """Return the grant of automatic approval, or None if automatic approval is off."""
    person = provider.world.approval.person("")
    request = request_of(provider, device)
    if person is None or request is None:
        return None
    return authorize.grant_of(provider, UNTOUCHED, request, Decision(person, request.scopes, {}))


# The person


def page(provider: Dialect, call: Call) -> Answer:
    """Return the page on which a person types the user code and approves the device."""
    typed = call.form.get("user_code") or call.query.get("user_code")
    if not typed:
        return pages.device_page(provider, call)
    device = find(provider, typed)
    request = request_of(provider, device) if device else None
    if device is None or request is None:
        return pages.device_page(provider, call, BAD_CODE)
    if decision := call.form.get("decision"):
        return decide(provider, call, device, request, approved=decision == "approve")
    return pages.approval_page(
        provider,
        request,
        selected=authorize.account_of(provider, call),
        action=f"{provider.browser_path}{provider.canonical(call.path)}?user_code={device.user_code}",
        leads="Then you return to your device",
    )


def find(provider: Dialect, typed: str) -> Device | None:
    """Return the waiting device with this user code. Case and punctuation are ignored."""
    signs = "".join(sign for sign in typed.upper() if sign.isalnum())
    device = provider.grants.waiting(signs)
    return device if device and device.expires_at > provider.world.clock() else None


def decide(provider: Dialect, call: Call, device: Device, request: AuthorizationRequest, *, approved: bool) -> Answer:
    """Handle the submitted form. The device receives the result with its next poll."""
    if not approved:
        device.denied = True
        return pages.closing_page(provider)
    person = provider.world.people.get(call.form.get("account", ""))
    if person is None:
        raise ShownToPerson(400, "account_unknown", "This account does not exist. Choose one from the list.")
    decision = Decision(person, authorize.shared(provider, request, call), {})
    device.grant = authorize.grant_of(provider, call.hooks, request, decision)
    answer = pages.closing_page(provider)
    return msgspec.structs.replace(
        answer, headers=(*answer.headers, ("set-cookie", authorize.remembered(provider, person)))
    )


def request_of(provider: Dialect, device: Device) -> AuthorizationRequest | None:
    """Convert the device's request into an authorization request. Return None if the client was removed."""
    client = provider.world.clients.get(provider.name, device.client_id)
    if client is None:
        return None
    return AuthorizationRequest(
        client=client, redirect_uri="", response_mode="query", scopes=device.scopes, challenge=None, query={}
    )
