"""Microsoft's device flow: the codes, the older names of its parameters, and when a secret is required.

Sources:

- The flow, which has no `slow_down`: github.com/MicrosoftDocs/entra-docs
  docs/identity-platform/v2-oauth2-device-code.md.
- The scope of the flow: github.com/MicrosoftDocs/azure-docs/issues/60942.
- The older grant type, which MSAL for Node sends: github.com/AzureAD/microsoft-authentication-library-for-js
  `lib/msal-common/src/utils/Constants.ts`.
- The older parameter `code`: github.com/AzureAD/microsoft-authentication-library-for-dotnet/issues/658.
- The parameter that is reported as missing: github.com/mvelazc0/msInvader/issues/7.
- An application with a secret gets codes without the secret, but needs the secret after a person has approved:
  github.com/AzureAD/azure-activedirectory-library-for-nodejs/issues/140 and
  github.com/Azure-Samples/active-directory-dotnetcore-devicecodeflow-v2/issues/9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.device import DEVICE_CODE, LIFE, begin, by_device_code, is_approved, was_given
from chatkey_oauth.engine.http import NO_STORE, Answer, json_answer
from chatkey_oauth.engine.refusals import Reason, TokenRefused
from chatkey_oauth.engine.switches import Switch
from chatkey_oauth.engine.token import required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.grants import Issued

GRANT_TYPES: Final = (DEVICE_CODE, "device_code")
"""The grant type of the device flow, and its older name."""

PUBLIC_FLOWS: Final = Switch(
    "public-flows",
    False,
    "Applications allow public client flows, so a device needs no secret. New applications do not.",
)


def codes(provider: Dialect, call: Call) -> Answer:
    """Answer a device that requests its codes. The answer contains a message to show to the person."""
    params = {} if call.is_json else call.form
    client = provider.world.clients.get(provider.name, required(params, "client_id"))
    if client is None:
        raise TokenRefused(Reason.CLIENT_UNKNOWN, "client_id")
    required(params, "scope")
    device_code, device = begin(provider, client, params)
    where = f"{provider.addresses.browser}/devicelogin"
    return json_answer(
        {
            "user_code": device.user_code,
            "device_code": device_code,
            "verification_uri": where,
            "expires_in": LIFE,
            "interval": device.interval,
            # Quoted in github.com/MicrosoftDocs/azure-docs/issues/33126
            "message": f"To sign in, use a web browser to open the page {where} and enter the code "
            f"{device.user_code} to authenticate.",
        },
        headers=NO_STORE,
    )


def exchanged(provider: Dialect, client: Client, params: Mapping[str, str]) -> Issued:
    return by_device_code(provider, client, params.get("code") or required(params, "device_code"))


def asks_proof(provider: Dialect, params: Mapping[str, str]) -> bool:
    """Require no secret while a device waits.

    With the switch `public-flows`, the request for tokens needs no secret either.
    """
    by_device = params.get("grant_type") in GRANT_TYPES
    if provider.on(PUBLIC_FLOWS.name):
        return not by_device and not was_given(provider, params)
    return not by_device or is_approved(provider, params.get("code") or params.get("device_code", ""))
