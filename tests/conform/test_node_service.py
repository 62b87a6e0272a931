"""Tests of the Node service that no vector covers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from tests.conform.nodes import Wishes, node_service

from chatkey_peer.key import BrowserKey
from chatkey_peer.peer import Peer, peer
from chatkey_protocol.names import CONFIG_PATH, MEMBER_TOKEN_PATH, SOCKET_PATH, VISITOR_TOKEN_PATH
from chatkey_stack.lab import Provider, ServiceLab
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

ORIGIN = "https://shop.example"
Open = Callable[..., Peer]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the service over plain HTTP, and return the service's address."""
    [port] = free_ports(1)
    with node_service(tmp_path_factory.mktemp("node"), Wishes(f"http://localhost:{port}", port)) as server:
        yield server.browser_url


@pytest.fixture
def lab(served: str) -> Iterator[ServiceLab]:
    """The lab of the service. It is reset after each test."""
    with closing(ServiceLab(served.replace("localhost", "127.0.0.1"), None)) as lab:
        yield lab
        lab.reset()


@pytest.fixture
def provider(lab: ServiceLab) -> Provider:
    return lab.add_provider(domains=["shop.example"])


@pytest.fixture
def ask(served: str) -> Iterator[Callable[..., httpx.Response]]:
    """Send a request to a public endpoint of the service."""
    with httpx.Client(base_url=served.replace("localhost", "127.0.0.1"), trust_env=False, timeout=PATIENCE) as client:
        yield client.request


@pytest.fixture
def open_socket(served: str) -> Iterator[Open]:
    """Return a function that opens sockets as a page of the shop does."""
    with ExitStack() as ending:
        uri = served.replace("http", "ws", 1) + SOCKET_PATH
        yield lambda: ending.enter_context(peer(uri, origin=ORIGIN, ca=None))


@pytest.fixture
def visitor(ask: Callable[..., httpx.Response], provider: Provider, open_socket: Open) -> Callable[[BrowserKey], Peer]:
    """Return a function that opens a socket and connects as a visitor."""

    def connect(key: BrowserKey) -> Peer:
        path = VISITOR_TOKEN_PATH.format(id=provider.id)
        token = ask("GET", path, params={"uid": f"v_{key.jkt}"}).json()["data"]["auth_token"]
        socket = open_socket()
        assert socket.connect_with(token, key).code == "ready"
        return socket

    return connect


def custom(provider: Provider, key: BrowserKey, *, now: float | None = None, **claims: object) -> str:
    issued = int(time.time() if now is None else now)
    honest: dict[str, Any] = {"pid": provider.id, "uid": "ada", "type": "user", "iat": issued, "exp": issued + 3600}
    return jwt.encode({**honest, "cnf": {"jkt": key.jkt}, **claims}, provider.secret_key, algorithm="HS256")


def test_a_message_is_stored_found_and_delivered(visitor: Callable[[BrowserKey], Peer]) -> None:
    """The test sends one message twice.

    The sender gets the same ack twice, the other socket receives the message once, and a search in any letter case
    finds it.
    """
    key = BrowserKey()
    one, other = visitor(key), visitor(key)
    said = {"type": "message", "id": "m-1", "body": "Große Straße", "headers": {"name": " Ada\n"}}

    for _ in range(2):
        one.send(said)
    acks = [one.receive(), one.receive()]
    heard = other.receive()
    other.send({"type": "search", "id": "s-1", "query": "STRASSE"})
    found = other.receive()

    assert acks[0] == acks[1]
    assert (heard["body"], heard["name"], heard["seq"]) == ("Große Straße", "Ada", acks[0]["seq"])
    assert found["messages"] == [{name: value for name, value in heard.items() if name != "type"}]


def test_history_comes_in_pages(visitor: Callable[[BrowserKey], Peer]) -> None:
    """The first page must contain the newest messages, and the second page the messages before them."""
    socket = visitor(BrowserKey())
    for number in range(1, 6):
        socket.send({"type": "message", "id": f"m-{number}", "body": str(number)})
        socket.receive()

    pages = []
    for before in (None, 4, 2):
        socket.send({"type": "history", "id": "h", "before": before, "limit": 2})
        answer = socket.receive()
        pages.append(([message["body"] for message in answer["messages"]], answer["more"]))

    assert pages == [(["4", "5"], True), (["2", "3"], True), (["1"], False)]


def test_starting_or_ending_a_call_twice_has_no_second_effect(visitor: Callable[[BrowserKey], Peer]) -> None:
    """Afterwards, there must be no call left to end."""
    socket = visitor(BrowserKey())
    answers = []
    for number, action in enumerate(("start", "start", "end", "end")):
        socket.send({"type": "call", "id": f"c-{number}", "action": action})
        answers.append(socket.receive())

    assert [answer.get("state", answer.get("code")) for answer in answers] == [
        *("ringing", "ringing", "ended"),
        "call_unknown",
    ]
    assert len({answer["call_id"] for answer in answers[:3]}) == 1


def test_a_member_is_let_in_and_nobody_with_another_key(provider: Provider, open_socket: Open) -> None:
    """A token must open a socket only with the key to which the token is bound."""
    key = BrowserKey()
    token = custom(provider, key)

    assert open_socket().connect_with(token, key).code == "ready"
    stranger = open_socket().connect_with(token, BrowserKey())

    assert (stranger.code, stranger.close) == ("proof_key_mismatch", 4403)


def test_a_token_is_asked_for_in_time_and_ends(lab: ServiceLab, provider: Provider, open_socket: Open) -> None:
    """The server must send `reauth` 30 seconds before expiry, and accept a newer token.

    After expiry, the server must close the connection with 4419.
    """
    key = BrowserKey()
    socket = open_socket()
    first = socket.connect_with(custom(provider, key), key).frame["expires_at"]
    lab.advance(3575)
    asked = socket.receive()
    socket.send({"type": "refresh", "token": custom(provider, key, now=lab.now())})
    refreshed = socket.receive()

    lab.advance(3600)
    [again, ended] = [socket.receive(), socket.outcome()]

    assert (asked["type"], asked["deadline"]) == ("reauth", first)
    assert refreshed["expires_at"] == again["deadline"] > first
    assert (ended.code, ended.close) == ("token_expired", 4419)


def test_a_refresh_of_somebody_else_ends_the_connection(provider: Provider, open_socket: Open) -> None:
    """The server must close the connection with `identity_changed`, 4409."""
    key = BrowserKey()
    socket = open_socket()
    socket.connect_with(custom(provider, key), key)

    socket.send({"type": "refresh", "token": custom(provider, key, uid="eve")})
    ended = socket.outcome()

    assert (ended.code, ended.close) == ("identity_changed", 4409)


@pytest.mark.parametrize(
    ("frame", "code", "close"),
    [
        ({"type": "ping"}, "pong", None),
        ({"type": "message", "id": "m", "body": " "}, "parameter_invalid", None),
        ({"type": "message", "id": "m", "body": "x" * 4001}, "too_large", None),
        ({"type": "message", "id": "no good", "body": "x"}, "frame_invalid", 4400),
        ({"type": "history", "id": "h", "limit": 51}, "frame_invalid", 4400),
        ({"type": "connect", "token": "a", "proof": "b"}, "frame_unexpected", 4400),
        ({"type": "dance"}, "frame_invalid", 4400),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_bad_frame_gets_an_error_or_ends_the_connection(
    visitor: Callable[[BrowserKey], Peer], frame: dict[str, Any], code: str, close: int | None
) -> None:
    """If a valid frame cannot be carried out, the server must reply with an error.

    A malformed frame must close the connection.
    """
    socket = visitor(BrowserKey())
    socket.send(frame)

    if "id" in frame and close is None:
        assert (socket.receive()["code"], frame["id"]) == (code, "m")
    else:
        outcome = socket.outcome()
        assert (outcome.code, outcome.close) == (code, close)


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        (("GET", CONFIG_PATH.format(id="nobody")), 404, "provider_unknown"),
        (("GET", "/v1/public/provider/{id}/"), 404, "not_found"),
        (("GET", "/v1/public//provider/{id}"), 404, "not_found"),
        (("DELETE", "/v1/public/provider/{id}"), 405, "method_not_allowed"),
        (("GET", VISITOR_TOKEN_PATH), 400, "parameter_missing"),
        (("GET", VISITOR_TOKEN_PATH + "?uid=1"), 400, "parameter_invalid"),
        (("GET", VISITOR_TOKEN_PATH + "?uid=1&uid=1"), 400, "parameter_repeated"),
        (("GET", MEMBER_TOKEN_PATH), 400, "parameter_missing"),
        (("GET", MEMBER_TOKEN_PATH + f"?auth=x&jkt={'A' * 43}"), 401, "token_malformed"),
    ],
    ids=str,
)
def test_an_endpoint_refuses_by_status_and_code(
    ask: Callable[..., httpx.Response], provider: Provider, asked: tuple[str, str], status: int, code: str
) -> None:
    """Every error response must have the same form, must not be cached, and must be readable from any origin."""
    method, path = asked

    answer = ask(method, path.format(id=provider.id))

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"


def test_the_configuration_is_revalidated(ask: Callable[..., httpx.Response], provider: Provider) -> None:
    """A request with the current ETag gets 304. With any other ETag, the response must be the whole configuration."""
    path = CONFIG_PATH.format(id=provider.id)
    tag = ask("GET", path).headers["etag"]

    assert ask("GET", path, headers={"If-None-Match": f"W/{tag}"}).status_code == 304
    assert ask("GET", path, headers={"If-None-Match": '"other"'}).json()["data"]["auth"] == {"oauth_providers": []}


def test_the_lab_lists_its_capabilities(ask: Callable[..., httpx.Response]) -> None:
    """The lab must return its profile and its capabilities, with names that a TARGET.toml may declare."""
    told = ask("GET", "/lab").json()["data"]

    assert told["profile"] == "lab.v1"
    assert {"clock", "businesses", "social:google"} <= set(told["capabilities"])


def test_a_lab_with_a_token_refuses_requests_without_it(tmp_path: Path) -> None:
    """A lab with a token must refuse requests without the token, even from this machine."""
    [port] = free_ports(1)
    wishes = Wishes(f"http://localhost:{port}", port, lab_token="only-for-this-test")
    with node_service(tmp_path, wishes) as server:
        statuses = [
            httpx.get(f"{server.local_url}/lab", headers=headers, trust_env=False, timeout=PATIENCE).status_code
            for headers in ({}, {"Authorization": "Bearer only-for-this-test"})
        ]

    assert statuses == [403, 200]
    assert json.loads((tmp_path / "node-service.json").read_text())["lab_token"]
