"""The schemas in docs/schemas/ and the server must accept and refuse the same values."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from tests import profile
from tools import schemas

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.reader import Reader
from chatkey_server.socket.connection import READER

VECTORS: Final[dict[str, Any]] = json.loads((profile.DOCS / "vectors.json").read_text())
BY_TYPE: Final = {"visitor": "visitor-token", "user": "socket-token", "identity": "identity-token"}
RELATIONS: Final = ("lifetime", "JWT-104", "JWT-092", "JWT-111", "JWT-112", "JWT-165", "social-for", "visitor-for")
"""Vectors whose rules no schema can express: relations of times, number formats, letters and prefixes of a uid."""


def honest_ids(group: str) -> list[str]:
    return [case["id"] for case in VECTORS[group]["cases"] if "accepted" in case]


def refused_for_its_claims() -> list[Any]:
    codes = {Code.TOKEN_CLAIMS, Code.PROOF_BINDING_MISSING}
    return [
        pytest.param(case["token"], id=f"{case['shown_as']}-{case['id']}")
        for case in VECTORS["tokens"]["cases"]
        if case.get("refused") in codes and not case["id"].removeprefix("order-").startswith(RELATIONS)
    ]


def schema_of(token: str) -> str:
    kind = profile.part_of(token, 1).get("type")
    return BY_TYPE.get(kind, "socket-token") if isinstance(kind, str) else "socket-token"


def test_there_is_a_page_of_every_schema() -> None:
    page = (profile.DOCS / "schemas" / "README.md").read_text()
    written = {path.name for path in (profile.DOCS / "schemas").glob("*.json")}

    assert written == {f"{name}.json" for name in schemas.KINDS} | {"gettoken-report.json", "conform-report.json"}
    assert all(f"[{name}]({name})" in page for name in written)


@pytest.mark.parametrize("name", schemas.KINDS)
def test_every_schema_is_valid(name: str) -> None:
    profile.published(name).check_schema(profile.published(name).schema)


@pytest.mark.parametrize(
    "token",
    [pytest.param(case["token"], id=case["id"]) for case in VECTORS["tokens"]["cases"] if "accepted" in case],
)
def test_the_claims_of_an_accepted_token_fit(token: str) -> None:
    assert profile.fits(schema_of(token), profile.part_of(token, 1))


@pytest.mark.parametrize("token", refused_for_its_claims())
def test_claims_that_are_refused_do_not_fit(token: str) -> None:
    assert not profile.fits(schema_of(token), profile.part_of(token, 1))


@pytest.mark.parametrize(
    "proof",
    [pytest.param(case["proof"], id=case["id"]) for case in VECTORS["proofs"]["cases"] if "accepted" in case],
)
def test_an_accepted_proof_fits(proof: str) -> None:
    assert profile.fits("proof-header", profile.part_of(proof, 0))
    assert profile.fits("proof-claims", profile.part_of(proof, 1))


HONEST: Final[dict[str, dict[str, Any]]] = {
    "connect": {"token": "t", "proof": "p"},
    "refresh": {"token": "t"},
    "message": {"id": "m-1", "body": "Hello", "headers": {"name": "Ada"}},
    "history": {"id": "h-1", "before": 7, "limit": 50},
    "search": {"id": "s-1", "query": "oak"},
    "call": {"id": "c-1", "action": "start"},
    "ping": {},
}
WRONG: Final[tuple[object, ...]] = (
    None,
    True,
    0,
    -1,
    51,
    1.5,
    2**31,
    "",
    "x" * 65,
    "a b",
    "answer",
    [],
    {},
    {"name": 5},
    ["start"],
)


def reads(reader: Reader[Any], frame: dict[str, Any]) -> bool:
    try:
        reader.read(json.dumps(frame), max_bytes=9999)
    except Refused as refused:
        return refused.code is not Code.FRAME_INVALID
    return True


@pytest.mark.contract("D-10/frame-schema")
@pytest.mark.parametrize("kind", HONEST)
def test_the_server_reads_the_frames_that_fit_and_no_others(kind: str) -> None:
    """The test omits each member in turn, and gives each member a wrong type or size."""
    honest = {"type": kind, **HONEST[kind]}
    bent = [{**honest, name: wrong} for name in HONEST[kind] for wrong in WRONG]
    cut = [{member: honest[member] for member in honest if member != name} for name in HONEST[kind]]

    for frame in (honest, {**honest, "more": 1}, *bent, *cut):
        assert reads(READER, frame) is profile.fits("frames-of-the-widget", frame), frame


def test_an_unknown_kind_of_frame_does_not_fit() -> None:
    unknown: list[object] = [{"type": "hello"}, {"type": "typing"}, {"type": 5}, {}, [], "ping"]

    assert not any(profile.fits("frames-of-the-widget", frame) for frame in unknown)


@pytest.mark.contract("D-09/message", "D-09/error")
def test_a_message_to_the_opener_has_a_token_or_an_error() -> None:
    message = {"type": "wf:oauth", "providerId": "p", "social": "google"}
    error = {"code": "oauth_denied", "message": "No."}

    fitting = [
        profile.fits("message-to-the-opener", {**message, **more})
        for more in (
            {"token": "t"},
            {"error": error, "nonce": "n"},
            {},
            {"token": "t", "error": error},
            {"error": "no"},
        )
    ]

    assert fitting == [True, True, False, False, False]
