"""Opening a socket and its first frame, over the network: from which page, with which content, in which order."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import BrowserKey

FORBIDDEN, BAD_FRAME, TOO_BIG = 4403, 4400, 1009


# which pages may open a socket


@pytest.mark.parametrize(
    ("origin", "code"),
    [
        pytest.param("null", "origin_not_allowed", id="WSK-002"),
        pytest.param("http://shop.example", "insecure_origin", id="plain-http"),
        pytest.param("file://", "origin_not_allowed", id="file"),
        pytest.param("https://SHOP.example", "origin_not_allowed", id="capitals"),
        pytest.param("https://shop.example/path", "origin_not_allowed", id="path"),
        pytest.param("https://shop.example, https://evil.example", "origin_not_allowed", id="list"),
    ],
)
def test_a_page_without_a_secure_origin_of_its_own_is_refused(service: Service, origin: str, code: str) -> None:
    with service.socket(origin=origin) as refused, service.socket(origin="https://shop.example") as accepted:
        assert refused.end().refusal == (code, FORBIDDEN)
        assert accepted.hello["type"] == "hello"


@pytest.mark.parametrize(
    "origin",
    [
        pytest.param("https://evil.example", id="foreign"),
        pytest.param("https://a.shop.example", id="subdomain"),
        pytest.param("https://shop.example.evil.example", id="suffix"),
        pytest.param("https://evilshop.example", id="prefix"),
        pytest.param("https://shop.example:8443", id="port"),
        pytest.param(None, id="none"),
    ],
)
def test_a_provider_that_keeps_to_its_pages_refuses_foreign_ones(
    service: Service, own_pages_only: Shop, origin: str | None
) -> None:
    """F135: the server accepts the socket first, so that the page can receive the reason."""
    shop = own_pages_only
    token = shop.token()

    with service.socket(origin="https://shop.example") as own, service.socket(origin=origin) as foreign:
        assert own.connect(token, own.prove(shop.key, token)).granted
        refused = foreign.connect(token, foreign.prove(shop.key, token))

    assert refused.refusal == ("origin_not_allowed", FORBIDDEN)


@pytest.fixture(scope="module")
def own_pages_only(service: Service) -> Shop:
    return service.shop(restrict_socket_origins=True)


def test_unless_a_provider_says_so_any_secure_page_may_connect(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket(origin="https://elsewhere.example") as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted


@pytest.mark.row("WSK-004")
def test_two_origins_are_refused(service: Service) -> None:
    twice = [("Origin", "https://shop.example"), ("Origin", "https://shop.example")]

    with pytest.raises(InvalidStatus) as refused, service.socket(additional_headers=twice):
        pass

    assert refused.value.response.status_code == 400
    with service.socket(additional_headers=twice[:1]) as accepted:
        assert accepted.hello["type"] == "hello"


@pytest.mark.row("WSK-007")
@pytest.mark.parametrize("path", ["/v1/socket/", "/v1/socket2", "/socket", "/V1/socket", "/v1/%73ocket", "//v1/socket"])
def test_there_is_no_socket_anywhere_else(service: Service, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused, service.socket(path=path):
        pass

    assert refused.value.response.status_code in {403, 404}
    with service.socket() as peer:
        assert peer.hello["type"] == "hello"


# what the URL and the subprotocols may contain


@pytest.mark.row("WSK-008")
def test_a_token_in_the_address_is_refused_and_not_logged(service: Service, shop: Shop) -> None:
    token = shop.token()

    with service.socket(path=f"/v1/socket?token={token}") as peer:
        ended = peer.end()

    assert ended.refusal == ("parameter_invalid", BAD_FRAME)
    assert token not in json.dumps(ended.frames)
    assert token.rpartition(".")[2] not in service.process.output()
    with service.socket(path="/v1/socket?utm=a") as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted


@pytest.mark.row("WSK-009")
def test_a_token_among_the_subprotocols_is_not_echoed(service: Service, shop: Shop) -> None:
    token = shop.token()

    with service.socket(subprotocols=["bearer", token]) as unknown, service.socket() as known:
        assert (unknown.connection.subprotocol, known.connection.subprotocol) == (None, "wf.v1")
        answer = unknown.connection.response
        assert answer is not None
        assert token not in str(answer.headers)
    with service.socket(subprotocols=["bearer", token, "wf.v1"]) as among:
        assert among.connection.subprotocol == "wf.v1"


# the first frame


@pytest.mark.row("WSK-021")
def test_a_silent_peer_is_closed_when_its_time_is_over(service: Service, shop: Shop) -> None:
    """F120: after ten seconds without `connect`."""
    with service.socket() as silent:
        assert silent.hello["auth_timeout"] == 10
        service.advance(10)

        assert silent.end().refusal == ("auth_timeout", 4408)
    assert service.try_token(shop.token(), shop.key).granted


@pytest.mark.row("WSK-024", "WSK-025")
def test_a_second_connect_ends_the_connection_and_changes_nothing(
    service: Service, shop: Shop, key: BrowserKey, row: str
) -> None:
    """F122, F126: a connection has one nonce and one identity."""
    mine = shop.token(uid="ann")
    second = mine if row == "WSK-024" else shop.token(uid="bob", cnf={"jkt": key.jkt})
    with service.socket() as peer, service.socket() as bob:
        assert peer.connect(mine, peer.prove(shop.key, mine)).last["uid"] == "ann"
        peer.say({"type": "connect", "token": second, "proof": peer.prove(shop.key if second == mine else key, second)})
        with suppress(ConnectionClosed):  # the server may have closed already
            peer.say({"type": "message", "id": "m-1", "body": "Who am I?"})
        ended = peer.end()

        assert ended.refusal == ("frame_unexpected", BAD_FRAME)
        other = shop.token(uid="bob", cnf={"jkt": key.jkt})
        assert bob.connect(other, bob.prove(key, other)).granted
        assert bob.ask({"type": "history", "id": "h-1"})["messages"] == []


@pytest.mark.row("WSK-026")
@pytest.mark.parametrize(
    "frame",
    [
        {"type": "message", "id": "m-1", "body": "Hello?"},
        {"type": "history", "id": "h-1"},
        {"type": "search", "id": "s-1", "query": "a"},
        {"type": "call", "id": "c-1", "action": "start"},
        {"type": "refresh", "token": "e30.e30.AA"},
        {"type": "ping"},
    ],
    ids=lambda frame: str(frame["type"]),
)
def test_a_frame_before_connect_is_refused_and_never_somebodys(
    service: Service, shop: Shop, frame: dict[str, Any]
) -> None:
    """F121: the server does not act on the frame."""
    token = shop.token(uid=f"early-{frame['type']}")
    with service.socket() as early:
        early.say(frame)
        with suppress(ConnectionClosed):  # the server may have closed already
            early.say({"type": "connect", "token": token, "proof": early.prove(shop.key, token)})
        assert early.end().refusal == ("frame_unexpected", BAD_FRAME)

    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        if frame["type"] != "refresh":
            assert peer.ask(frame)["type"] in {"ack", "history", "search", "call", "pong"}


@pytest.mark.row("WSK-027")
def test_members_that_are_not_known_are_passed_over(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket() as peer:
        more = {"version": 2, "capabilities": ["x"], "uid": "someone-else", "jkt": None}
        frame = {"type": "connect", "token": token, "proof": peer.prove(shop.key, token), **more}

        assert peer.ask(frame)["uid"] == "customer-7"


@pytest.mark.parametrize(
    ("damaged", "close"),
    [
        pytest.param(lambda frame: "", BAD_FRAME, id="WSK-029-empty"),
        pytest.param(lambda frame: frame + "}", BAD_FRAME, id="WSK-029-invalid"),
        pytest.param(lambda frame: frame[:-10], BAD_FRAME, id="WSK-029-truncated"),
        pytest.param(lambda frame: "\ufeff" + frame, BAD_FRAME, id="WSK-029-bom"),
        pytest.param(lambda frame: f"[{frame}]", BAD_FRAME, id="WSK-029-list"),
        pytest.param(lambda frame: frame[:-1] + ',"type":"connect"}', BAD_FRAME, id="WSK-029-twice"),
        pytest.param(lambda frame: frame[:-1] + ',"x":NaN}', BAD_FRAME, id="WSK-029-nan"),
        pytest.param(lambda frame: frame[:-1] + ',"x":1e999}', BAD_FRAME, id="WSK-029-too-far"),
        pytest.param(lambda frame: frame[:-1] + ',"x":"\\ud800"}', BAD_FRAME, id="WSK-029-lone-surrogate"),
        pytest.param(lambda frame: frame.replace('"connect"', '"conn\\u0000ect"'), BAD_FRAME, id="WSK-029-nul"),
        pytest.param(lambda frame: frame.replace('"connect"', '["connect"]'), BAD_FRAME, id="WSK-029-type-list"),
        pytest.param(lambda frame: frame.encode(), BAD_FRAME, id="WSK-029-binary"),
        pytest.param(lambda frame: "[" * 30_000 + "]" * 30_000, BAD_FRAME, id="WSK-029-30000-levels"),
        pytest.param(lambda frame: frame[:-1] + ',"x":' + "[" * 30_000, BAD_FRAME, id="WSK-029-levels-within"),
        pytest.param(lambda frame: frame[:-1] + ',"x":' + "9" * 50_000 + "}", BAD_FRAME, id="WSK-029-digits"),
        pytest.param(lambda frame: "[" * 100_000, TOO_BIG, id="WSK-029-100000-levels"),
    ],
)
def test_a_connect_frame_that_is_no_strict_json_is_refused(
    service: Service, shop: Shop, damaged: Any, close: int
) -> None:
    """F141: the close reason is the code, and the message reveals nothing internal."""
    token = shop.token()
    with service.socket() as honest, service.socket() as faulty:
        honest_frame, frame = (
            json.dumps({"type": "connect", "token": token, "proof": peer.prove(shop.key, token)})
            for peer in (honest, faulty)
        )
        assert honest.ask(honest_frame)["type"] == "ready"
        faulty.say(damaged(frame))
        ended = faulty.end()

    if close == TOO_BIG:
        assert (ended.frames, ended.close) == ([], TOO_BIG)
        return
    assert ended.refusal == ("frame_invalid", BAD_FRAME)
    assert token not in ended.last["message"]
    assert "Traceback" not in ended.last["message"]
