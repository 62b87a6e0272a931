"""Tests of Microsoft's device flow."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from html import unescape
from re import fullmatch, search
from typing import TYPE_CHECKING, Any

import pytest
from tests.oauth.visitor import Visitor, content

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

CODES = "/common/oauth2/v2.0/devicecode"
GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPE = "openid profile offline_access User.Read"
PAGE = "/devicelogin"
WHERE = "https://id.localhost/microsoft/devicelogin"


class Device:
    """A device that requests codes and polls. Its application is public."""

    def __init__(self, microsoft: Visitor) -> None:
        self.microsoft = microsoft
        microsoft.fake.world.clients.add(
            Client(provider="microsoft", client_id="tv", redirect_uris=("https://a.example/",))
        )

    def begin(self, client_id: str = "tv") -> dict[str, Any]:
        codes: dict[str, Any] = content(self.microsoft.post(CODES, {"client_id": client_id, "scope": SCOPE}))
        return codes

    def ask(self, **form: str) -> tuple[int, dict[str, Any]]:
        """Send a token request, and return status and JSON. The client is `tv` unless the form names another client."""
        answer = self.microsoft.post(self.microsoft.site.token, {"client_id": "tv", "grant_type": GRANT} | form)
        return answer.status, content(answer)

    def poll(self, codes: dict[str, Any], **form: str) -> dict[str, Any]:
        """Send a token request with the device code, and return the JSON. Any status is accepted."""
        return self.ask(device_code=codes["device_code"], **form)[1]

    def decide(self, codes: dict[str, Any], decision: str = "approve", account: str = "rhea") -> Answer:
        body = f"account={account}&decision={decision}".encode()
        return self.microsoft.post(PAGE, body, f"user_code={codes['user_code']}")


@pytest.fixture
def device(microsoft: Visitor) -> Device:
    return Device(microsoft)


def test_a_device_gets_codes_and_a_sentence_to_show(device: Device) -> None:
    codes = device.begin()

    user_code = codes["user_code"]
    assert fullmatch(r"[A-Z2-9]{9}", user_code)
    assert len(codes.pop("device_code")) > 100
    assert codes == {
        "user_code": user_code,
        "verification_uri": WHERE,
        "expires_in": 900,
        "interval": 5,
        "message": f"To sign in, use a web browser to open the page {WHERE} and enter the code {user_code} to "
        "authenticate.",
    }


def test_discovery_tells_where_devices_ask(device: Device) -> None:
    document = content(device.microsoft.get("/common/v2.0/.well-known/openid-configuration"))

    assert document["device_authorization_endpoint"] == f"https://id.localhost/microsoft{CODES}"


@pytest.mark.parametrize(
    ("body", "content_type", "refusal"),
    [
        (b"scope=openid", "", (400, "invalid_request", 900144, "parameter: 'client_id'.")),
        (b"client_id=tv", "", (400, "invalid_request", 900144, "parameter: 'scope'.")),
        (b"client_id=tv&scope=", "", (400, "invalid_request", 900144, "parameter: 'scope'.")),
        (b"client_id=who&scope=openid", "", (400, "unauthorized_client", 700016, "identifier 'who' was not found")),
        (b'{"client_id":"tv"}', "application/json", (400, "invalid_request", 900144, "parameter: 'client_id'.")),
    ],
)
def test_no_codes_without_an_application_and_scopes(
    device: Device, body: bytes, content_type: str, refusal: tuple[int, str, int, str]
) -> None:
    answer = device.microsoft.post(CODES, body, **({"content_type": content_type} if content_type else {}))

    status, error, number, words = refusal
    said = content(answer)
    assert (answer.status, said["error"], said["error_codes"]) == (status, error, [number])
    assert words in said["error_description"]


def test_an_approved_device_gets_tokens_for_the_person(device: Device) -> None:
    codes = device.begin()
    waiting = device.ask(device_code=codes["device_code"])
    done = device.decide(codes, account="omar")

    status, token = device.ask(device_code=codes["device_code"], client_info="1")

    assert (waiting[0], waiting[1]["error"], waiting[1]["error_codes"]) == (400, "authorization_pending", [70016])
    assert (done.status, b"You can close this window." in done.body) == (200, True)
    assert (status, token["scope"], token["ext_expires_in"]) == (200, "openid profile User.Read", 3599)
    assert {"id_token", "refresh_token"} <= set(token)
    user = content(device.microsoft.profile(token["access_token"], "/v1.0/me"))
    assert json.loads(urlsafe_b64decode(token["client_info"] + "=="))["uid"] == user["id"]
    assert user["displayName"] == "Omar Haddad"


def test_a_device_that_asks_often_is_not_slowed_down(device: Device) -> None:
    codes = device.begin()

    assert {device.poll(codes)["error"] for _ in range(5)} == {"authorization_pending"}


@pytest.mark.parametrize(
    ("decision", "wait", "error", "number"),
    [
        ("deny", 5, "authorization_declined", 65004),
        ("", 900, "expired_token", 70020),
        ("approve", 900, "expired_token", 70020),
    ],
)
def test_a_device_that_cannot_succeed_gets_the_reason(
    device: Device, clock: Clock, *, decision: str, wait: int, error: str, number: int
) -> None:
    codes = device.begin()
    if decision:
        device.decide(codes, decision)
    clock.advance(wait)

    refused = device.poll(codes)

    assert (refused["error"], refused["error_codes"]) == (error, [number])


@pytest.mark.parametrize(
    ("form", "error", "number"),
    [
        ({"device_code": "nonsense"}, "bad_verification_code", 7000014),
        ({"client_id": "other"}, "bad_verification_code", 7000014),
        ({"client_id": "nobody"}, "unauthorized_client", 700016),
        ({"device_code": ""}, "invalid_request", 900144),
    ],
)
def test_a_code_that_is_not_the_applications_is_refused(
    device: Device, form: dict[str, str], error: str, number: int
) -> None:
    other = Client(provider="microsoft", client_id="other", redirect_uris=("https://a.example/",))
    device.microsoft.fake.world.clients.add(other)
    codes = device.begin()

    status, refused = device.ask(**{"device_code": codes["device_code"]} | form)

    assert (status, refused["error"], refused["error_codes"]) == (400, error, [number])


def test_a_code_serves_once(device: Device) -> None:
    codes = device.begin()
    device.decide(codes)

    first, again = device.poll(codes), device.poll(codes)

    assert "access_token" in first
    assert again["error"] == "bad_verification_code"


@pytest.mark.parametrize("grant_type", ["device_code", GRANT])
@pytest.mark.parametrize("name", ["device_code", "code"])
def test_the_grant_type_and_the_code_have_older_names_too(device: Device, grant_type: str, name: str) -> None:
    codes = device.begin()
    device.decide(codes)

    missing = device.ask(grant_type=grant_type)[1]
    status, token = device.ask(**{"grant_type": grant_type, name: codes["device_code"]})

    assert "must contain the following parameter: 'device_code'." in missing["error_description"]
    assert (status, token["token_type"]) == (200, "Bearer")


# Applications with a secret


def test_a_device_of_an_application_with_a_secret_waits_without_it_and_then_needs_it(device: Device) -> None:
    codes = device.begin("ours")

    waiting = device.poll(codes, client_id="ours")
    device.decide(codes)
    missing, wrong = (device.poll(codes, client_id="ours", client_secret=secret) for secret in ("", "wrong"))

    assert waiting["error"] == "authorization_pending"
    assert [refused["error_codes"] for refused in (missing, wrong)] == [[7000218], [7000215]]
    assert "access_token" in device.poll(codes, client_id="ours", client_secret="ours-secret")


def test_auto_approval_does_not_replace_the_secret(device: Device) -> None:
    device.microsoft.fake.world.approval.account = "omar"

    public, confidential = (device.poll(device.begin(who), client_id=who) for who in ("tv", "ours"))

    assert "access_token" in public
    assert confidential["error_codes"] == [7000218]


def test_where_public_flows_are_allowed_a_device_needs_no_secret_and_a_browser_still_does(device: Device) -> None:
    device.microsoft.switch("public-flows", on=True)
    codes = device.begin("ours")
    device.decide(codes)
    refresh = {"client_id": "ours", "grant_type": "refresh_token"}

    by_device = device.poll(codes, client_id="ours")["refresh_token"]
    by_browser = device.microsoft.login(scope=SCOPE)["refresh_token"]

    (given, token), (refused, words) = (
        device.ask(**refresh | {"refresh_token": token}) for token in (by_device, by_browser)
    )
    assert (given, token["token_type"]) == (200, "Bearer")
    assert (refused, words["error_codes"]) == (401, [7000218])


# The page


@pytest.mark.parametrize("path", [PAGE, "//devicelogin", "/devicelogin/"])
def test_the_page_asks_for_the_code_and_then_for_an_approval(device: Device, path: str) -> None:
    code = device.begin()["user_code"].lower()

    empty = device.microsoft.get(path)
    asked = device.microsoft.get(path, {"user_code": f" {code[:3]} {code[3:]}"})
    action = search(r'<form method="post" action="([^"]+)"', asked.body.decode())

    assert b'placeholder="XXXXXXXXX"' in empty.body
    assert action
    assert unescape(action[1]) == f"/microsoft/devicelogin?user_code={code.upper()}"
    assert b"Then you return to your device" in asked.body


def test_at_a_host_of_its_own_the_form_of_the_page_leads_to_that_host(fake: App) -> None:
    page = fake.answer(Call("GET", "//devicelogin", headers={"host": "login.microsoftonline.com"}))

    assert b'action="/devicelogin"' in page.body
