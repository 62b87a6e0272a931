"""Tests of `chatkey conform` with the sample service in Node, for every grade of business."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.conform.nodes import OFFERED, Wishes, node_service, places
from tests.node import NODE

from chatkey_stack.applications import new_application
from chatkey_stack.lab import ServiceLab
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK, free_ports

SAMPLES = Path(__file__).parents[2] / "docs" / "samples"
NOBODY = f"http://{LOOPBACK}:9"
"""An address at which no social provider listens. The cases that are judged over HTTP never log in there."""
LIMITS = {"tokenRate": 0, "oauthRate": 0}


@dataclass(frozen=True)
class Judge:
    """Runs `chatkey conform` on targets that all describe one service."""

    folder: Path
    address: str

    def __call__(self, sample: str, *options: str, **environ: str) -> dict[str, Any]:
        """Run the command on a sample TARGET.toml, with the address of this service inserted, and return the report."""
        text = (SAMPLES / sample).read_text().replace("http://localhost:8800", self.address)
        text = text.replace("https://chat.staging.example", self.address).replace('"node"', json.dumps(NODE))
        (self.folder / sample).write_text(text + "\n[limits]\ntoken_rate = 0\noauth_rate = 0\n")
        command = (sys.executable, "-m", "chatkey", "conform", sample, "--output", "out", *options)

        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=20 * PATIENCE,
        )

        assert done.returncode == 0, done.stdout + done.stderr
        report: dict[str, Any] = json.loads((self.folder / "out" / "report.json").read_text())
        return report


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """Start the service in Node with its own keys for the social providers. Return an object that runs the command."""
    folder = tmp_path_factory.mktemp("judged")
    shutil.copy(SAMPLES / "adapter.mjs", folder)
    [port] = free_ports(1)
    address = f"http://{LOOPBACK}:{port}"
    with node_service(folder, Wishes(address, port, socials=places(NOBODY, NOBODY), limits=LIMITS)) as served:
        with closing(ServiceLab(served.local_url, None)) as lab:
            for social in OFFERED:
                lab.set_application(new_application(social, f"node-{social}"))
        yield Judge(folder, address)


def verdicts(report: Mapping[str, Any]) -> set[str]:
    return {str(sentence["verdict"]) for sentence in report["sentences"]}


def test_the_smoke_is_green(judge: Judge) -> None:
    """The sample adapter creates the businesses."""
    report = judge("command-node.toml", "--smoke", ADMIN_URL=f"{judge.address}/lab")

    assert "failed" not in verdicts(report)
    assert "passed" in verdicts(report)


def test_the_smoke_is_green_for_a_business_made_by_hand(judge: Judge) -> None:
    """The suite reads the business's secret from the environment."""
    secret = new_application("google", "").client_secret
    with closing(ServiceLab(judge.address, None)) as lab:
        lab.ask("POST", "/providers", {"id": "shop", "domains": ["shop.localhost:9443"], "secret_key": secret})

    report = judge("prepared.toml", "--smoke", SHOP_SECRET=secret)

    assert "passed" in verdicts(report)


@pytest.mark.long
def test_nothing_fails_over_the_wire(judge: Judge) -> None:
    """The test runs every applicable case of every family."""
    report = judge("lab.toml")

    assert "failed" not in verdicts(report)
