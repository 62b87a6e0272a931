"""Tests of the suite with correct but unusual Node services. The suite must find no fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conform.changing import (
    DECLARED,
    UNLIMITED,
    judged,
    of_families,
    services,
    target_of,
    wished,
)
from tests.conform.nodes import changed

from chatkey_conform.judging.verdict import Verdict
from chatkey_protocol.names import REVISION
from chatkey_stack.ports import LOOPBACK, free_ports


@pytest.mark.long
@pytest.mark.parametrize("service", services("unusual.toml"))
def test_a_service_that_is_right_in_an_unusual_way_is_not_blamed(tmp_path: Path, service: Mapping[str, Any]) -> None:
    [port] = free_ports(1)
    base = f"http://{service.get('host', LOOPBACK)}:{port}{service.get('path', '')}"

    limits, declared = service.get("limits", UNLIMITED), service.get("declared", DECLARED)

    home = changed(tmp_path, *service.get("edits", [service] if "find" in service else ()))
    revision = service.get("revision", REVISION)
    with target_of(tmp_path, home, wished(port, limits, base), declared, revision) as target:
        result = judged(target, of_families(*service.get("families", ())))

    assert [(outcome.case.id, outcome.reason) for outcome in result.of(Verdict.FAILED, Verdict.ERROR)] == []
