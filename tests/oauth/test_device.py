"""Tests of the device flow at GitHub and at Microsoft."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections.abc import Callable
from html import unescape
from re import search
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import pytest
from tests.oauth.visitor import Visitor, content

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
LINK = "https://docs.github.com/developers/apps/authorizing-oauth-apps#error-codes-for-the-device-flow"
DISABLED = {
    "error": "device_flow_disabled",
    "error_description": "Device Flow must be explicitly enabled for this App",
    "error_uri": "https://docs.github.com",
}
WHERE = "https://id.localhost/microsoft/devicelogin"


class Flow(NamedTuple):
    codes: str
    page: str
    client: str
    scope: str


FLOWS = {
    "github": Flow("/login/device/code", "/login/device", "ours", "read:user user:email"),
    "microsoft": Flow(
        *("/common/oauth2/v2.0/devicecode", "/devicelogin", "tv", "openid profile offline_access User.Read")
    ),
}


class Device:
    """A device that requests codes and polls. At Microsoft, its application is public."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.flow = FLOWS[visitor.name]
        if visitor.name == "github":
            visitor.switch("device-flow", on=True)
        else:
            tv = Client(provider="microsoft", client_id="tv", redirect_uris=("https://a.example/",))
            visitor.fake.world.clients.add(tv)

    def post(self, path: str, form: dict[str, str]) -> Answer:
        return self.visitor.post(path, form, accept="application/json")

    def begin(self, **form: str) -> dict[str, Any]:
        asked = {"client_id": self.flow.client, "scope": self.flow.scope} | form
        codes: dict[str, Any] = content(self.post(self.flow.codes, asked))
        return codes

    def ask(self, **form: str) -> tuple[int, dict[str, Any]]:
        """Send a token request, and return status and JSON. The client is the device's own by default."""
        answer = self.post(self.visitor.site.token, {"client_id": self.flow.client, "grant_type": GRANT} | form)
        return answer.status, content(answer)

    def poll(self, codes: dict[str, Any], **form: str) -> dict[str, Any]:
        """Send a token request with the device code, and return the JSON. Any status is accepted."""
        return self.ask(**{"device_code": codes["device_code"]} | form)[1]

    def decide(
        self, codes: dict[str, Any], decision: str = "approve", *, account: str = "rhea", also: str = ""
    ) -> Answer:
        body = f"account={account}&decision={decision}&{also}".encode()
        return self.visitor.post(self.flow.page, body, f"user_code={codes['user_code']}")


@pytest.fixture
def device(visitor: Visitor) -> Device:
    return Device(visitor)


EACH = pytest.mark.parametrize("name", FLOWS)
GITHUB = pytest.mark.parametrize("name", ["github"])
MICROSOFT = pytest.mark.parametrize("name", ["microsoft"])
HEX_CODES = (r"^[0-9a-f]{40}$", r"^[0-9A-F]{4}-[0-9A-F]{4}$")
CODES = {
    "github": (
        *HEX_CODES,
        {"verification_uri": "https://id.localhost/github/login/device", "expires_in": 899, "interval": 5},
    ),
    "microsoft": (
        *(r"^.{101,}$", r"^[A-Z2-9]{9}$"),
        {
            "verification_uri": WHERE,
            "expires_in": 900,
            "interval": 5,
            "message": f"To sign in, use a web browser to open the page {WHERE} and enter the code %s to authenticate.",
        },
    ),
}


@EACH
def test_a_device_gets_two_codes_and_is_told_where_one_is_typed(device: Device) -> None:
    codes = device.begin()

    device_code, user_code, others = CODES[device.visitor.name]
    typed = codes.pop("user_code")
    assert search(device_code, codes.pop("device_code"))
    assert search(user_code, typed)
    assert codes == {
        name: value.replace("%s", typed) if isinstance(value, str) else value for name, value in others.items()
    }


PENDING = {
    "github": (200, "authorization_pending", "The authorization request is still pending."),
    "microsoft": (400, "authorization_pending", "AADSTS70016: "),
}
GRANTED = {"github": "read:user,user:email", "microsoft": "openid profile User.Read"}
PROFILE = {"github": ("/user", "name"), "microsoft": ("/v1.0/me", "displayName")}
USED = {"github": "incorrect_device_code", "microsoft": "bad_verification_code"}


@EACH
def test_an_approved_device_gets_one_token_for_the_person_and_the_scopes(device: Device) -> None:
    codes, name = device.begin(), device.visitor.name
    status, waiting = device.ask(device_code=codes["device_code"])
    done = device.decide(codes, account="omar")
    device.visitor.clock.advance(5)

    token = device.poll(codes)

    *refused, words = PENDING[name]
    path, member = PROFILE[name]
    assert [status, waiting["error"]] == refused
    assert waiting["error_description"].startswith(words)
    assert (done.status, b"You can close this window." in done.body) == (200, True)
    assert (token["token_type"].lower(), token["scope"]) == ("bearer", GRANTED[name])
    assert content(device.visitor.profile(token["access_token"], path))[member] == "Omar Haddad"
    assert device.poll(codes)["error"] == USED[name]


@pytest.mark.parametrize(
    ("name", "decision", "wait", "error", "words"),
    [
        ("github", "deny", 5, "access_denied", "The authorization request was denied."),
        ("github", "", 900, "expired_token", "This 'device_code' has expired."),
        ("github", "approve", 900, "expired_token", "This 'device_code' has expired."),
        ("microsoft", "deny", 5, "authorization_declined", "AADSTS65004: "),
        ("microsoft", "", 900, "expired_token", "AADSTS70020: "),
        ("microsoft", "approve", 900, "expired_token", "AADSTS70020: "),
    ],
)
def test_a_device_that_cannot_succeed_gets_the_reason(
    device: Device, *, decision: str, wait: int, error: str, words: str
) -> None:
    codes = device.begin()
    if decision:
        device.decide(codes, decision)
    device.visitor.clock.advance(wait)

    refused = device.poll(codes)

    assert refused["error"] == error
    assert refused["error_description"].startswith(words)
    assert refused["error_uri"] == LINK or device.visitor.name == "microsoft"


@pytest.mark.parametrize(
    ("name", "form", "error"),
    [
        ("github", {"device_code": "nonsense"}, "incorrect_device_code"),
        ("github", {"device_code": ""}, "incorrect_device_code"),
        ("github", {"client_id": "theirs"}, "incorrect_device_code"),
        ("github", {"client_id": "nobody"}, "incorrect_client_credentials"),
        ("microsoft", {"device_code": "nonsense"}, "bad_verification_code 7000014"),
        ("microsoft", {"client_id": "other"}, "bad_verification_code 7000014"),
        ("microsoft", {"client_id": "nobody"}, "unauthorized_client 700016"),
        ("microsoft", {"device_code": ""}, "invalid_request 900144"),
    ],
)
def test_a_code_that_is_not_the_applications_is_refused(device: Device, form: dict[str, str], error: str) -> None:
    other = Client(provider=device.visitor.name, client_id="other", redirect_uris=("https://a.example/",))
    device.visitor.fake.world.clients.add(other)

    refused = device.poll(device.begin(), **form)

    assert [refused["error"], *map(str, refused.get("error_codes", []))] == error.split(" ")


PAGES = {
    "github": (b'<input class="typed" id="user_code" name="user_code"', b"Your e-mail addresses"),
    "microsoft": (b'placeholder="XXXXXXXXX"', b"Then you return to your device"),
}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("github", "/login/device"),
        *(("microsoft", path) for path in ("/devicelogin", "//devicelogin", "/devicelogin/")),
    ],
)
@pytest.mark.parametrize("spell", [str, str.lower, lambda code: code.replace("-", ""), lambda code: f" {code} "])
def test_the_page_asks_for_the_code_in_any_spelling_and_then_for_an_approval(
    device: Device, path: str, spell: Callable[[str], str]
) -> None:
    code = device.begin()["user_code"]

    empty = device.visitor.get(path)
    asked = device.visitor.get(path, {"user_code": spell(code)})
    typed = device.visitor.post(path, {"user_code": spell(code)})
    action = search(r'<form method="post" action="([^"]+)"', asked.body.decode())

    on_empty, on_asked = PAGES[device.visitor.name]
    assert on_empty in empty.body
    assert action
    assert unescape(action[1]) == f"/{device.visitor.name}{device.flow.page}?user_code={code}"
    for words in (b"to continue to <strong", b"Then you return to your device", b"Choose an account", on_asked):
        assert words in asked.body
    assert b"Choose an account" in typed.body


@EACH
def test_auto_approval_applies_to_devices(device: Device) -> None:
    codes = device.begin()
    device.visitor.fake.world.approval.account = "omar"

    token = device.poll(codes)

    path, member = PROFILE[device.visitor.name]
    assert content(device.visitor.profile(token["access_token"], path))[member] == "Omar Haddad"


# GitHub


@GITHUB
@pytest.mark.parametrize(
    ("accept", "start"), [("", b"device_code="), ("application/xml", b"<OAuth><verification_uri>https://id.localhost")]
)
def test_codes_come_in_the_encoding_asked_for(device: Device, accept: str, start: bytes) -> None:
    answer = device.visitor.post(device.flow.codes, {"client_id": "ours"}, accept=accept)

    assert answer.body.startswith(start)


@GITHUB
def test_a_device_may_send_json_and_needs_no_secret(device: Device) -> None:
    def send(path: str, **body: str) -> Any:
        raw = json.dumps({"client_id": "ours", **body}).encode()
        return content(device.visitor.post(path, raw, content_type="application/json", accept="application/json"))

    codes = send(device.flow.codes, scope="read:user")

    pending = send(device.visitor.site.token, device_code=codes["device_code"], grant_type=GRANT)
    assert pending["error"] == "authorization_pending"


@GITHUB
def test_scopes_can_be_left_out_on_the_page(device: Device) -> None:
    codes = device.begin()

    device.decide(codes, also="offered=read%3Auser&offered=user%3Aemail&share=read%3Auser")

    assert device.poll(codes)["scope"] == "read:user"


@GITHUB
def test_polling_too_early_lengthens_the_interval_even_after_the_approval(device: Device) -> None:
    codes = device.begin()
    device.poll(codes)
    device.decide(codes)

    early, again = device.poll(codes), device.poll(codes)
    device.visitor.clock.advance(14)
    still = device.poll(codes)
    device.visitor.clock.advance(20)

    assert early == {
        "error": "slow_down",
        "error_description": "Too many requests have been made in the same timeframe.",
        "error_uri": "https://docs.github.com",
        "interval": 10,
    }
    assert [answer["interval"] for answer in (again, still)] == [15, 20]
    assert "access_token" in device.poll(codes)


@GITHUB
def test_the_new_interval_is_told_in_the_form_encoding_too(device: Device) -> None:
    codes = device.begin()
    device.poll(codes)

    form = {"client_id": "ours", "device_code": codes["device_code"], "grant_type": GRANT}
    answer = device.visitor.post(device.visitor.site.token, form)

    assert dict(parse_qsl(answer.body.decode()))["interval"] == "10"


@GITHUB
def test_an_unknown_application_is_not_found(device: Device) -> None:
    answer = device.visitor.post(device.flow.codes, {"client_id": "nobody"}, accept="application/json")

    assert (answer.status, content(answer)) == (404, {"error": "Not Found"})


@GITHUB
def test_a_device_whose_application_switched_it_off_is_told_so(device: Device) -> None:
    codes = device.begin()
    device.visitor.switch("device-flow", on=False)

    assert device.poll(codes) == DISABLED


@GITHUB
def test_a_token_of_a_device_is_refreshed_without_a_secret(device: Device) -> None:
    device.visitor.switch("expiring-tokens", on=True)
    codes = device.begin()
    device.decide(codes)
    refresh = {"grant_type": "refresh_token", "client_id": "ours"}

    by_device = device.poll(codes)["refresh_token"]
    by_browser = device.visitor.login()["refresh_token"]

    given, refused = (
        content(
            device.visitor.post(
                device.visitor.site.token, refresh | {"refresh_token": token}, accept="application/json"
            )
        )
        for token in (by_device, by_browser)
    )
    assert given["access_token"].startswith("ghu_")
    assert refused["error"] == "incorrect_client_credentials"


@GITHUB
@pytest.mark.parametrize("spoil", ["other", "expired", "used", "refused", "orphaned"])
def test_an_unknown_code_is_asked_for_again(device: Device, spoil: str) -> None:
    codes = device.begin()
    if spoil == "expired":
        device.visitor.clock.advance(900)
    if spoil in {"used", "refused"}:
        device.decide(codes, "approve" if spoil == "used" else "deny")
    if spoil == "orphaned":
        device.visitor.fake.world.clients.remove("github", "ours")

    page = device.visitor.get(device.flow.page, {"user_code": "<b>" if spoil == "other" else codes["user_code"]})

    assert page.status == 400
    assert b'role="alert"' in page.body
    assert b"<b>" not in page.body


@GITHUB
def test_an_unknown_account_approves_nothing(device: Device) -> None:
    codes = device.begin()

    page = device.visitor.post(device.flow.page, b"account=who&decision=approve", f"user_code={codes['user_code']}")

    assert (page.status, b"This account does not exist." in page.body) == (400, True)
    assert device.poll(codes)["error"] == "authorization_pending"


@GITHUB
def test_the_browser_remembers_the_person_who_approved_a_device(device: Device) -> None:
    done = device.decide(device.begin())

    assert dict(done.headers)["set-cookie"].startswith("chatkey_fake_github=rhea;")


@GITHUB
def test_a_name_of_an_application_does_not_break_out_of_the_page(device: Device) -> None:
    device.visitor.fake.world.clients.add(
        Client(provider="github", client_id="ours", name="<img src=x>", redirect_uris=("https://a.example/",))
    )
    codes = device.begin(scope="<script> a\r\nb")

    page = device.visitor.get(device.flow.page, {"user_code": codes["user_code"]})

    assert b"<img" not in page.body
    assert page.body.count(b"<script") == 1


# Microsoft


@MICROSOFT
def test_discovery_tells_where_devices_ask(device: Device) -> None:
    document = content(device.visitor.get("/common/v2.0/.well-known/openid-configuration"))

    assert document["device_authorization_endpoint"] == f"https://id.localhost/microsoft{device.flow.codes}"


@MICROSOFT
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
    answer = device.visitor.post(device.flow.codes, body, **({"content_type": content_type} if content_type else {}))

    status, error, number, words = refusal
    said = content(answer)
    assert (answer.status, said["error"], said["error_codes"]) == (status, error, [number])
    assert words in said["error_description"]


@MICROSOFT
def test_a_device_that_asks_often_is_not_slowed_down(device: Device) -> None:
    codes = device.begin()

    assert {device.poll(codes)["error"] for _ in range(5)} == {"authorization_pending"}


@MICROSOFT
@pytest.mark.parametrize("grant_type", ["device_code", GRANT])
@pytest.mark.parametrize("member", ["device_code", "code"])
def test_the_grant_type_and_the_code_have_older_names_too(device: Device, grant_type: str, member: str) -> None:
    codes = device.begin()
    device.decide(codes)

    missing = device.ask(grant_type=grant_type)[1]
    status, token = device.ask(**{"grant_type": grant_type, member: codes["device_code"]})

    assert "must contain the following parameter: 'device_code'." in missing["error_description"]
    assert (status, token["token_type"]) == (200, "Bearer")


@MICROSOFT
def test_a_device_of_an_application_with_a_secret_waits_without_it_and_then_needs_it(device: Device) -> None:
    codes = device.begin(client_id="ours")

    waiting = device.poll(codes, client_id="ours")
    device.decide(codes)
    missing, wrong = (device.poll(codes, client_id="ours", client_secret=secret) for secret in ("", "wrong"))

    assert waiting["error"] == "authorization_pending"
    assert [refused["error_codes"] for refused in (missing, wrong)] == [[7000218], [7000215]]
    assert "access_token" in device.poll(codes, client_id="ours", client_secret="ours-secret")


@MICROSOFT
def test_auto_approval_does_not_replace_the_secret(device: Device) -> None:
    device.visitor.fake.world.approval.account = "omar"

    public, confidential = (device.poll(device.begin(client_id=who), client_id=who) for who in ("tv", "ours"))

    assert "access_token" in public
    assert confidential["error_codes"] == [7000218]


@MICROSOFT
def test_where_public_flows_are_allowed_a_device_needs_no_secret_and_a_browser_still_does(device: Device) -> None:
    device.visitor.switch("public-flows", on=True)
    codes = device.begin(client_id="ours")
    device.decide(codes)
    refresh = {"client_id": "ours", "grant_type": "refresh_token"}

    by_device = device.poll(codes, client_id="ours")["refresh_token"]
    by_browser = device.visitor.login(scope=device.flow.scope)["refresh_token"]

    (given, token), (refused, words) = (
        device.ask(**refresh | {"refresh_token": token}) for token in (by_device, by_browser)
    )
    assert (given, token["token_type"]) == (200, "Bearer")
    assert (refused, words["error_codes"]) == (401, [7000218])


def test_at_a_host_of_its_own_the_form_of_the_page_leads_to_that_host(fake: App) -> None:
    page = fake.answer(Call("GET", "//devicelogin", headers={"host": "login.microsoftonline.com"}))

    assert b'action="/devicelogin"' in page.body


@MICROSOFT
def test_client_info_of_a_device_names_the_person(device: Device) -> None:
    codes = device.begin()
    device.decide(codes)

    token = device.poll(codes, client_info="1")

    user = content(device.visitor.profile(token["access_token"], "/v1.0/me"))
    assert json.loads(urlsafe_b64decode(token["client_info"] + "=="))["uid"] == user["id"]
