"""The results of browser scenarios, in the file that the harness writes and `chatkey conform` reads."""

from __future__ import annotations

from pathlib import Path

import msgspec

from chatkey_conform.judging.transcript import Step
from chatkey_conform.judging.verdict import Verdict
from chatkey_peer.redaction import Masks

REFUSALS = "refusals/"
"""Prefix of the ids of results about proofs that the service refused in a failed scenario."""


class Scenario(msgspec.Struct, frozen=True):
    """The result of one scenario. `id` is the file and the name of the scenario, as pytest writes them.

    The `steps` of a failure are the page's requests and frames.
    """

    id: str
    title: str
    sentences: tuple[str, ...]
    verdict: Verdict
    reason: str = ""
    seconds: float = 0.0
    steps: tuple[Step, ...] = ()


def write_scenarios(path: Path, scenarios: list[Scenario], masks: Masks) -> None:
    path.write_bytes(msgspec.json.encode(masks.value(msgspec.to_builtins(scenarios))))


def read_scenarios(path: Path) -> list[Scenario]:
    return msgspec.json.decode(path.read_bytes(), type=list[Scenario])
