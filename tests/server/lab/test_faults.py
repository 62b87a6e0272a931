"""Tests of the lab's fault rules and their effect on requests and sockets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_lab.faults import Faults, Rule
from chatkey_server.lab.middleware import FaultyApp

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

Messages = list[dict[str, Any]]
PATH = "/v1/public/provider/none"


async def arm(lab: ServerClient, **rule: object) -> int:
    answer = await lab.post("/lab/faults", json=rule)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["data"]["id"]
    return number


@pytest.mark.contract("D-14/faults")
async def test_a_status_is_answered_as_often_as_asked_and_then_no_more(lab: ServerClient) -> None:
    await arm(lab, where=PATH, action="status", status=502, times=2)

    answers = [await lab.get(PATH) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [502, 502, 404]
    assert answers[0].json() == {
        "data": None,
        "error": {"code": "lab_fault", "message": "A fault rule of the lab answers 502 here."},
    }
    assert answers[0].headers["access-control-allow-origin"] == "*"


async def test_a_rule_applies_to_paths_with_its_prefix(lab: ServerClient) -> None:
    await arm(lab, where=f"{PATH}/token", action="status", status=500, times=None)

    assert (await lab.get(PATH)).status_code == 404
    assert (await lab.get(f"{PATH}/token?uid=x")).status_code == 500
    assert (await lab.get("/lab/clock")).status_code == 200


async def test_a_delayed_request_is_answered_as_always(lab: ServerClient) -> None:
    await arm(lab, where=PATH, action="delay", seconds=0.01)

    answer = await lab.get(PATH)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "provider_unknown")


async def test_rules_are_listed_with_their_hits_and_removed(lab: ServerClient) -> None:
    first = await arm(lab, where=PATH, action="status", times=None)
    second = await arm(lab, where="ready", action="drop")
    await lab.get(PATH)

    listed = (await lab.get("/lab/faults")).json()["data"]
    removed = (await lab.delete(f"/lab/faults/{first}")).json()["data"]
    again = await lab.delete(f"/lab/faults/{first}")
    rest = (await lab.delete("/lab/faults")).json()["data"]

    assert [(rule["id"], rule["hits"]) for rule in listed] == [(first, 1), (second, 0)]
    assert removed["id"] == first
    assert (again.status_code, again.json()["error"]["code"]) == (404, "not_found")
    assert [rule["id"] for rule in rest] == [second]
    assert (await lab.get(PATH)).status_code == 404


@pytest.mark.parametrize(
    "rule",
    [
        {"where": "ready", "action": "status"},
        {"where": "", "action": "drop"},
        {"where": "/v1", "action": "explode"},
        {"where": "/v1", "action": "status", "status": 200},
        {"where": "/v1", "action": "status", "times": 0},
        {"where": "/v1", "action": "delay", "seconds": 3600},
        {"where": "/v1", "action": "drop", "wher": 1},
    ],
)
async def test_an_impossible_rule_is_refused(lab: ServerClient, rule: dict[str, object]) -> None:
    answer = await lab.post("/lab/faults", json=rule)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_invalid")


async def test_a_status_for_a_frame_is_refused_with_the_reason(lab: ServerClient) -> None:
    answer = await lab.post("/lab/faults", json={"where": "ready", "action": "status"})

    assert "a frame has no status" in answer.json()["error"]["message"]


class Peer:
    """A peer that sends the given texts and stores everything that it receives."""

    def __init__(self, *texts: str) -> None:
        self._coming: Messages = [{"type": "websocket.receive", "text": text} for text in texts]
        self.got: Messages = []

    async def receive(self) -> dict[str, Any]:
        return self._coming.pop(0) if self._coming else {"type": "websocket.disconnect", "code": 1000}

    async def send(self, message: dict[str, Any]) -> None:
        self.got.append(message)


def frame(kind: str) -> str:
    return json.dumps({"type": kind})


async def spoilt(peer: Peer, *rules: Rule) -> Messages:
    """Connect a peer through fault rules to an app that echoes each frame. Returns the frames that the app received."""
    received: Messages = []

    async def echo(scope: object, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            received.append(message)
            await send({"type": "websocket.send", "text": message["text"].replace("ask", "answer")})

    faults = Faults()
    for rule in rules:
        faults.arm(rule)
    app: Any = FaultyApp(echo, faults)
    await app({"type": "websocket", "path": "/v1/socket"}, peer.receive, peer.send)
    return received


@pytest.mark.parametrize(
    ("sent", "rules", "received", "got"),
    [
        (["ask"], [], ["ask"], ["answer"]),
        (["ask", "ask"], [Rule(where="answer", action="drop")], ["ask", "ask"], ["answer"]),
        (["ask", "other"], [Rule(where="ask", action="drop")], ["other"], ["other"]),
        (["ask"], [Rule(where="answer", action="delay", seconds=0)], ["ask"], ["answer"]),
    ],
    ids=["no rule", "a frame of the server", "a frame of the widget", "a delay"],
)
async def test_a_frame_passes_is_dropped_or_is_delayed(
    sent: list[str], rules: list[Rule], received: list[str], got: list[str]
) -> None:
    peer = Peer(*map(frame, sent))

    assert [message["text"] for message in await spoilt(peer, *rules)] == [*map(frame, received)]
    assert [message["text"] for message in peer.got] == [*map(frame, got)]


@pytest.mark.contract("D-14/faults")
@pytest.mark.parametrize("where", ["ask", "answer"])
async def test_at_a_frame_the_socket_is_closed_with_a_code_and_nothing_is_sent_after_it(where: str) -> None:
    peer = Peer(frame("ask"), frame("ask"))

    await spoilt(peer, Rule(where=where, action="close", code=1013))

    assert peer.got == [{"type": "websocket.close", "code": 1013, "reason": "lab"}]


@pytest.mark.parametrize("text", ["", "{", "[]", "\ud800", "[" * 5000, '{"type": 1}'])
async def test_text_that_is_no_frame_passes_unchanged(text: str) -> None:
    peer = Peer(text)

    await spoilt(peer, Rule(where="ask", action="drop"))

    assert [message["text"] for message in peer.got] == [text]


@pytest.mark.contract("D-14/faults")
async def test_a_handshake_is_refused_with_a_status_or_closed_with_a_code() -> None:
    refused, closed = Peer(""), Peer("")

    await spoilt(refused, Rule(where="/v1/socket", action="status", status=503))
    await spoilt(closed, Rule(where="/v1/socket", action="close", code=4401))

    assert [message.get("status") for message in refused.got] == [503, None]
    assert [message["type"] for message in closed.got] == ["websocket.accept", "websocket.close"]
    assert closed.got[1]["code"] == 4401


def test_the_first_rule_with_hits_left_applies() -> None:
    faults = Faults()
    faults.arm(Rule(where="/v1", action="status", status=500))
    faults.arm(Rule(where="/v1", action="status", status=501, times=None))

    hits = [faults.hit_path("/v1/x") for _ in range(3)]

    assert [hit.status if hit else None for hit in hits] == [500, 501, 501]
    assert faults.hit_path("/v2") is None
