"""Tests how many log lines an anonymous caller can cause: one for each request, and few of one kind per second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest
from tests.refusals.kit.shipped import Service, serving
from tests.refusals.kit.shop import Shop

from chatkey_peer.key import BrowserKey

pytestmark = pytest.mark.long

COUNT: Final = 300
PER_SECOND: Final = 2
AT_ONCE: Final = 10 * PER_SECOND
KINDS: Final = 3
"""How many kinds of log lines one kind of bad request may cause."""
LINE_BYTES: Final = 600


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A server with the shipped log settings, but a lower limit of log lines per second."""
    folder = tmp_path_factory.mktemp("log")
    with serving(folder, {"LOG_LEVEL": "info", "LIMIT_LOG_LINES": str(PER_SECOND)}) as made:
        yield made


@pytest.fixture(scope="module")
def shop(service: Service) -> Shop:
    return service.shop()


Act = Callable[[Service, Shop], None]


def raw(request: bytes) -> Act:
    """Return an action that sends these bytes over a new connection."""

    def send(service: Service, _: Shop) -> None:
        service.raw(request)

    return send


def get(path: str) -> Act:
    """Return an action that requests `path`, with the business's id in place of `{id}`."""

    def ask(service: Service, shop: Shop) -> None:
        assert 400 <= service.http.get(path.replace("{id}", shop.id)).status_code < 500

    return ask


def sign_in_as_admin(body: str, statuses: set[int]) -> Act:
    """Return an action that posts `body` to the admin panel's sign-in, and expects one of `statuses`."""

    def send(service: Service, _: Shop) -> None:
        headers = {"Origin": service.base_url, "X-CSRFToken": "x", "Cookie": "csrftoken=x"}
        headers["Content-Type"] = "application/json"
        assert service.http.post("/admin/public/login/", content=body, headers=headers).status_code in statuses

    return send


def guess_at_agent(service: Service, _: Shop) -> None:
    form = {"username": "eve", "password": "a wrong guess"}
    answer = service.http.post("/agent/sign-in", data=form, headers={"Origin": service.base_url})
    assert answer.status_code in {401, 429}


def bad_frame(service: Service, _: Shop) -> None:
    with service.socket() as peer:
        peer.say("{")
        assert peer.end().frames[-1]["code"] == "frame_invalid"


def foreign_agent_socket(service: Service, _: Shop) -> None:
    with service.socket(path="/agent/socket", subprotocols=None) as peer:
        assert peer.end().frames[-1]["code"] == "origin_not_allowed"


GUESS: Final = '{"username": "ada", "password": "a wrong guess"}'
ATTACKS: Final[dict[str, Act]] = {
    "guesses at an administrator's password": sign_in_as_admin(GUESS, {401, 429}),
    "sign-ins that cannot be read": sign_in_as_admin('"x"', {400}),
    "sign-ins of 60,000 levels": sign_in_as_admin("[" * 60_000, {400}),
    "sign-ins with a number of 5,000 digits": sign_in_as_admin('{"username": ' + "9" * 5000 + "}", {400}),
    "guesses at an agent's password": guess_at_agent,
    "member tokens without one": get("/v1/public/provider/{id}/member/token?auth=x.y.z&jkt=" + BrowserKey().jkt),
    "starts from a foreign origin": get("/v1/public/provider/{id}/oauth/google?origin=https://evil.example"),
    "callbacks of no start": get("/v1/public/oauth/google/callback?state=x&code=y"),
    "questions to the admin panel": get("/admin/api/tables/providers/?__order=nope"),
    "lines that are no HTTP": raw(b"\x16\x03\x01\r\n\r\n"),
    "requests without a host": raw(b"GET / HTTP/1.1\r\n\r\n"),
    "heads that are too large": raw(b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n"),
    "frames that are no JSON": bad_frame,
    "agents' sockets of foreign pages": foreign_agent_socket,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_300_bad_requests_write_few_lines_and_an_ordinary_one_is_still_logged(
    service: Service, shop: Shop, attack: str
) -> None:
    before = len(service.process.output())
    started = time.monotonic()

    for _ in range(COUNT):
        ATTACKS[attack](service, shop)
    seconds = time.monotonic() - started
    key = BrowserKey()
    token = service.http.get(f"{shop.path}/token", params={"uid": key.uid}).json()["data"]["auth_token"]
    assert service.try_token(token, key).granted
    service.logged(key.uid)

    written = service.process.output()[before:]
    most = KINDS * (AT_ONCE + PER_SECOND * seconds) + seconds
    assert len(written.splitlines()) <= min(most, COUNT + AT_ONCE)
    assert len(written) <= most * LINE_BYTES
    assert "Traceback" not in written
    assert "exception" not in written
