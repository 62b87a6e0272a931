"""Tests of GitHub's device flow."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from re import search
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest
from tests.oauth.visitor import Visitor, content

from chatkey_oauth.engine.clients import Client

if TYPE_CHECKING:
    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
LINK = "https://docs.github.com/developers/apps/authorizing-oauth-apps#error-codes-for-the-device-flow"
PAGE = "/login/device"


class Device:
    """A device that requests codes and polls. The device flow is enabled for its application."""

    def __init__(self, github: Visitor) -> None:
        self.github = github
        github.switch("device-flow", on=True)

    def begin(self, scope: str = "read:user user:email") -> dict[str, Any]:
        form = {"client_id": "ours", "scope": scope}
        codes: dict[str, Any] = content(self.github.post("/login/device/code", form, accept="application/json"))
        return codes

    def poll(self, codes: dict[str, Any], client_id: str = "ours") -> dict[str, Any]:
        form = {"client_id": client_id, "device_code": codes["device_code"], "grant_type": GRANT}
        answer = self.github.post("/login/oauth/access_token", form, accept="application/json")
        assert answer.status == 200, answer
        said: dict[str, Any] = content(answer)
        return said

    def decide(self, codes: dict[str, Any], decision: str = "approve", also: str = "") -> Answer:
        body = f"account=rhea&decision={decision}&{also}".encode()
        return self.github.post(PAGE, body, f"user_code={codes['user_code']}")


@pytest.fixture
def device(github: Visitor) -> Device:
    return Device(github)


def test_a_device_gets_two_codes_and_is_told_where_one_is_typed(device: Device) -> None:
    codes = device.begin()

    assert search(r"^[0-9a-f]{40}$", codes.pop("device_code"))
    assert search(r"^[0-9A-F]{4}-[0-9A-F]{4}$", codes.pop("user_code"))
    assert codes == {
        "verification_uri": "https://id.localhost/github/login/device",
        "expires_in": 899,
        "interval": 5,
    }


@pytest.mark.parametrize(
    ("accept", "start"), [("", b"device_code="), ("application/xml", b"<OAuth><verification_uri>https://id.localhost")]
)
def test_codes_come_in_the_encoding_asked_for(device: Device, accept: str, start: bytes) -> None:
    answer = device.github.post("/login/device/code", {"client_id": "ours"}, accept=accept)

    assert answer.body.startswith(start)


def test_a_device_may_send_json_and_needs_no_secret(device: Device) -> None:
    def send(path: str, **body: str) -> Any:
        raw = json.dumps({"client_id": "ours", **body}).encode()
        return content(device.github.post(path, raw, content_type="application/json", accept="application/json"))

    codes = send("/login/device/code", scope="read:user")

    pending = send("/login/oauth/access_token", device_code=codes["device_code"], grant_type=GRANT)
    assert pending["error"] == "authorization_pending"


def test_an_approved_device_gets_one_token_for_the_person_and_the_scopes(device: Device, clock: Clock) -> None:
    codes = device.begin()
    waiting = device.poll(codes)
    done = device.decide(codes)
    clock.advance(5)

    token = device.poll(codes)

    said = "The authorization request is still pending."
    assert waiting == {"error": "authorization_pending", "error_description": said, "error_uri": LINK}
    assert (done.status, b"You can close this window." in done.body) == (200, True)
    assert (token["token_type"], token["scope"]) == ("bearer", "read:user,user:email")
    assert content(device.github.profile(token["access_token"]))["login"] == "rquill"
    assert content(device.github.profile(token["access_token"], "/user/emails"))[0]["email"] == "rhea@example.com"
    assert device.poll(codes)["error"] == "incorrect_device_code"


def test_scopes_can_be_left_out_on_the_page(device: Device) -> None:
    codes = device.begin()

    device.decide(codes, also="offered=read%3Auser&offered=user%3Aemail&share=read%3Auser")

    assert device.poll(codes)["scope"] == "read:user"


def test_polling_too_early_lengthens_the_interval_even_after_the_approval(device: Device, clock: Clock) -> None:
    codes = device.begin()
    device.poll(codes)
    device.decide(codes)

    early, again = device.poll(codes), device.poll(codes)
    clock.advance(14)
    still = device.poll(codes)
    clock.advance(20)

    assert early == {
        "error": "slow_down",
        "error_description": "Too many requests have been made in the same timeframe.",
        "error_uri": "https://docs.github.com",
        "interval": 10,
    }
    assert [answer["interval"] for answer in (again, still)] == [15, 20]
    assert "access_token" in device.poll(codes)


def test_the_new_interval_is_told_in_the_form_encoding_too(device: Device) -> None:
    codes = device.begin()
    device.poll(codes)

    form = {"client_id": "ours", "device_code": codes["device_code"], "grant_type": GRANT}
    answer = device.github.post("/login/oauth/access_token", form)

    assert dict(parse_qsl(answer.body.decode()))["interval"] == "10"


@pytest.mark.parametrize(
    ("decision", "wait", "error", "words"),
    [
        ("deny", 5, "access_denied", "The authorization request was denied."),
        ("", 900, "expired_token", "This 'device_code' has expired."),
        ("approve", 900, "expired_token", "This 'device_code' has expired."),
    ],
)
def test_a_device_that_cannot_succeed_gets_the_reason(
    device: Device, clock: Clock, *, decision: str, wait: int, error: str, words: str
) -> None:
    codes = device.begin()
    if decision:
        device.decide(codes, decision)
    clock.advance(wait)

    assert device.poll(codes) == {"error": error, "error_description": words, "error_uri": LINK}


@pytest.mark.parametrize(
    ("code", "client_id", "error"),
    [
        ("nonsense", "ours", "incorrect_device_code"),
        ("", "ours", "incorrect_device_code"),
        (None, "theirs", "incorrect_device_code"),
        (None, "nobody", "incorrect_client_credentials"),
    ],
)
def test_a_code_that_is_not_the_applications_is_refused(
    device: Device, code: str | None, client_id: str, error: str
) -> None:
    codes = device.begin()

    assert device.poll(codes if code is None else {"device_code": code}, client_id)["error"] == error


def test_an_unknown_application_is_not_found(device: Device) -> None:
    answer = device.github.post("/login/device/code", {"client_id": "nobody"}, accept="application/json")

    assert (answer.status, content(answer)) == (404, {"error": "Not Found"})


def test_a_device_whose_application_switched_it_off_is_told_so(device: Device) -> None:
    codes = device.begin()
    device.github.switch("device-flow", on=False)

    assert device.poll(codes) == {
        "error": "device_flow_disabled",
        "error_description": "Device Flow must be explicitly enabled for this App",
        "error_uri": "https://docs.github.com",
    }


def test_auto_approval_applies_to_devices(device: Device) -> None:
    codes = device.begin()
    device.github.fake.world.approval.account = "omar"

    token = device.poll(codes)

    assert content(device.github.profile(token["access_token"]))["name"] == "Omar Haddad"


def test_a_token_of_a_device_is_refreshed_without_a_secret(device: Device) -> None:
    device.github.switch("expiring-tokens", on=True)
    codes = device.begin()
    device.decide(codes)
    refresh = {"grant_type": "refresh_token", "client_id": "ours"}

    by_device = device.poll(codes)["refresh_token"]
    by_browser = device.github.login()["refresh_token"]

    given, refused = (
        content(
            device.github.post(
                "/login/oauth/access_token", refresh | {"refresh_token": token}, accept="application/json"
            )
        )
        for token in (by_device, by_browser)
    )
    assert given["access_token"].startswith("ghu_")
    assert refused["error"] == "incorrect_client_credentials"


# The page


def test_the_page_asks_for_the_code_and_then_for_an_approval(device: Device) -> None:
    codes = device.begin()

    empty = device.github.get(PAGE)
    asked = device.github.get(PAGE, {"user_code": codes["user_code"]})
    action = search(r'<form method="post" action="([^"]+)"', asked.body.decode())

    assert b'<input class="typed" id="user_code" name="user_code"' in empty.body
    assert action
    assert unescape(action[1]) == f"/github/login/device?user_code={codes['user_code']}"
    for words in (b"to continue to <strong", b"Your e-mail addresses", b"Then you return to your device"):
        assert words in asked.body


@pytest.mark.parametrize("spell", [str.lower, lambda code: code.replace("-", ""), lambda code: f" {code} "])
def test_the_code_may_be_typed_as_one_likes(device: Device, spell: Callable[[str], str]) -> None:
    code = spell(device.begin()["user_code"])

    assert b"Choose an account" in device.github.get(PAGE, {"user_code": code}).body
    assert b"Choose an account" in device.github.post(PAGE, {"user_code": code}).body


@pytest.mark.parametrize("spoil", ["other", "expired", "used", "refused", "orphaned"])
def test_an_unknown_code_is_asked_for_again(device: Device, clock: Clock, spoil: str) -> None:
    codes = device.begin()
    if spoil == "expired":
        clock.advance(900)
    if spoil in {"used", "refused"}:
        device.decide(codes, "approve" if spoil == "used" else "deny")
    if spoil == "orphaned":
        device.github.fake.world.clients.remove("github", "ours")

    page = device.github.get(PAGE, {"user_code": "<b>" if spoil == "other" else codes["user_code"]})

    assert page.status == 400
    assert b'role="alert"' in page.body
    assert b"<b>" not in page.body


def test_an_unknown_account_approves_nothing(device: Device) -> None:
    codes = device.begin()

    page = device.github.post(PAGE, b"account=who&decision=approve", f"user_code={codes['user_code']}")

    assert (page.status, b"This account does not exist." in page.body) == (400, True)
    assert device.poll(codes)["error"] == "authorization_pending"


def test_the_browser_remembers_the_person_who_approved_a_device(device: Device) -> None:
    done = device.decide(device.begin())

    assert dict(done.headers)["set-cookie"].startswith("chatkey_fake_github=rhea;")


def test_a_name_of_an_application_does_not_break_out_of_the_page(device: Device) -> None:
    device.github.fake.world.clients.add(
        Client(provider="github", client_id="ours", name="<img src=x>", redirect_uris=("https://a.example/",))
    )
    codes = device.begin(scope="<script> a\r\nb")

    page = device.github.get(PAGE, {"user_code": codes["user_code"]})

    assert not [tag for tag in (b"<img", b"<script") if tag in page.body]
