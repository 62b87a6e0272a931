"""Tests of the lab of the Node service. The suite judges the service itself."""

from __future__ import annotations

from pathlib import Path

import httpx
from tests.conform.nodes import Wishes, node_service

from chatkey_conform.capabilities import CAPABILITIES
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports


def test_a_lab_lists_its_capabilities_for_requests_with_its_token_alone(tmp_path: Path) -> None:
    """Without the token, the lab must refuse a request even from this machine."""
    [port] = free_ports(1)
    wishes = Wishes(f"http://localhost:{port}", port, lab_token="only-for-this-test")
    with node_service(tmp_path, wishes) as server:
        refused, answered = (
            httpx.get(f"{server.local_url}/lab", headers=headers, trust_env=False, timeout=PATIENCE)
            for headers in ({}, {"Authorization": "Bearer only-for-this-test"})
        )

    assert (refused.status_code, answered.status_code) == (403, 200)
    assert answered.json()["data"]["profile"] == "lab.v1"
    assert {"clock", "businesses", "social:google"} <= set(answered.json()["data"]["capabilities"]) <= {*CAPABILITIES}
