"""Tests of the sample service in Node with all published vectors."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.conform.nodes import HOME
from tests.node import NODE

from chatkey_stack.patience import PATIENCE

VECTORS = Path(__file__).parents[2] / "docs" / "vectors.json"


def run(vectors: Path) -> list[str]:
    """Run the service's vector checker on a file of vectors, and return the lines of its output."""
    done = subprocess.run(
        [NODE, str(HOME / "vectors.mjs"), str(vectors)],
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def cases() -> int:
    """Return the number of cases in the published file, without the examples for keys that the profile does not use."""
    vectors = json.loads(VECTORS.read_text())
    lists = ("thumbprints", "visitor_keys", "token_hashes", "domains")
    cases = ("tokens", "refreshes", "proofs", "call_proofs")
    return sum(len(vectors[name]) for name in lists) + sum(len(vectors[name]["cases"]) for name in cases)


def test_no_vector_fails_or_is_left_out() -> None:
    told = run(VECTORS)

    assert len(told) == 1, "\n".join(told)
    assert int(told[0].split()[0]) > cases()


@pytest.mark.parametrize(
    ("group", "change"),
    [("thumbprints", {"jkt": "x"}), ("domains", {"origins": ["https://other.example"]})],
    ids=["a-thumbprint", "a-domain"],
)
def test_a_failing_vector_is_reported(group: str, change: dict[str, object], tmp_path: Path) -> None:
    """A change in one case must add one line to the output."""
    vectors = json.loads(VECTORS.read_text())
    vectors[group][0].update(change)
    changed = tmp_path / "vectors.json"
    changed.write_text(json.dumps(vectors))

    told = run(changed)

    assert [line.split()[0] for line in told[:-1]] == [group]
