"""GitHub's device flow, which an application must enable: the codes, and the errors while a device polls.

Sources. docs.github.com/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps, "Device flow". The three members of
the error if it is disabled: github.com/octokit/create-octokit-project.js/issues/208; an unknown application:
github.com/github/app/issues/1320; polling too early is refused even after an approval: github.com/cli/cli/issues/9370;
the words for an invalid code: github.com/cli/cli/issues/9302. Codes live one second less than documented:
docs.rs/crate/oauth2-github, `docs/Device_Authorization_Grant.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.device import LIFE, begin, by_device_code
from chatkey_oauth.engine.refusals import Reason, TokenRefused, Words
from chatkey_oauth.engine.switches import Switch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.grants import Issued
    from chatkey_oauth.engine.http import Answer

DOCS: Final = "https://docs.github.com"
DISABLED: Final = "Device Flow must be explicitly enabled for this App"
SWITCH: Final = Switch("device-flow", False, "The application has the device flow enabled, unlike new applications.")
ERROR_LINKS: Final = {
    **dict.fromkeys(
        (Reason.DEVICE_CODE, Reason.DEVICE_EXPIRED, Reason.DEVICE_PENDING, Reason.DEVICE_DENIED),
        f"{DOCS}/developers/apps/authorizing-oauth-apps#error-codes-for-the-device-flow",
    ),
    **dict.fromkeys((Reason.DEVICE_FLOW, Reason.SLOW_DOWN), DOCS),
}
"""Documentation links of the errors. They do not link to the page about the token endpoint's errors."""

WORDS: Final = {
    Reason.DEVICE_CODE: Words(200, "incorrect_device_code", "The device_code provided is not valid."),
    Reason.DEVICE_EXPIRED: Words(200, "expired_token", "This 'device_code' has expired."),
    Reason.DEVICE_PENDING: Words(200, "authorization_pending", "The authorization request is still pending."),
    Reason.DEVICE_DENIED: Words(200, "access_denied", "The authorization request was denied."),
    Reason.DEVICE_FLOW: Words(200, "device_flow_disabled", DISABLED),
    Reason.SLOW_DOWN: Words(200, "slow_down", "Too many requests have been made in the same timeframe."),
}


def codes(provider: Dialect, call: Call) -> Answer:
    """Answer a device that asks for its codes. Refuses if the switch `device-flow` is off."""
    client = provider.world.clients.get(provider.name, call.form.get("client_id", ""))
    if client is None:
        return provider.token_answer(call, {"error": "Not Found"}, 404)
    if not provider.on(SWITCH.name):
        body = {"error": "device_flow_disabled", "error_description": DISABLED, "error_uri": DOCS}
        return provider.token_answer(call, body, 400)
    device_code, device = begin(provider, client, call.form)
    answer = {
        "device_code": device_code,
        "user_code": device.user_code,
        "verification_uri": f"{provider.addresses.browser}/login/device",
        "expires_in": LIFE - 1,
        "interval": device.interval,
    }
    return provider.token_answer(call, answer)


def exchanged(provider: Dialect, client: Client, params: Mapping[str, str]) -> Issued:
    """Exchange a device code for tokens. Refuses if the switch `device-flow` is off."""
    if not provider.on(SWITCH.name):
        raise TokenRefused(Reason.DEVICE_FLOW)
    return by_device_code(provider, client, params.get("device_code", ""))
