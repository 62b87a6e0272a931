"""Tests of the place that a finding names for programs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.check.mutants import self_test
from tests.check.mutants.mutant_server import Server

from chatkey_check import checks
from chatkey_check.reports.fixes import fix

PLACES: dict[str, dict[str, Any]] = {
    "trace-go": {"part": "request", "file": "/src/main.go", "line": 31},
    "trace-ruby": {"part": "request", "file": "app/controllers/chat_controller.rb", "line": 7},
    "trace-dotnet": {"part": "request", "file": "C:\\src\\Program.cs", "line": 12},
    "trace-laravel": {"part": "request", "file": "/var/www/x.php", "line": 5},
    "trace-in-json": {"part": "request", "file": "/app/node_modules/body-parser/json.js", "line": 92},
    "pii": {"part": "claims", "claim": "password_hash"},
    "secret-in-source-map": {"part": "page", "file": "{base}/b.js", "line": 1},
    "cacheable": {"part": "answer", "header": "Cache-Control"},
}
"""The expected place of the first finding, by mutant. Members that are not listed are None."""


@pytest.mark.parametrize("name", PLACES)
def test_a_finding_names_its_place(name: str, mutant_server: Server) -> None:
    report = self_test.judge(mutant_server, name, checks.load())

    first = next(found for found in map(fix, report.outcomes) if found)
    wanted = {
        key: value.format(base=f"http://127.0.0.1:{mutant_server.port}/{name}") if isinstance(value, str) else value
        for key, value in PLACES[name].items()
    }
    assert first["where"] == {"claim": None, "header": None, "file": None, "line": None, **wanted}
