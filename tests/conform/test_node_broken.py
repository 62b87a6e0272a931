"""The suite finds faults in the sample service in Node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conform.changing import judged_of_its_family, services
from tests.conform.failing import matching, recorded

from chatkey_conform.judging.verdict import Verdict


@pytest.mark.long
@pytest.mark.parametrize("service", services("broken.toml"))
def test_a_service_that_is_wrong_in_one_place_is_named(tmp_path: Path, service: Mapping[str, Any]) -> None:
    result = judged_of_its_family(tmp_path, service)

    assert service["sentence"] in [sentence.id for sentence in result.failed]
    assert result.of(Verdict.ERROR) == []
    recorded_cases = matching(recorded().get(service["name"], ()))
    assert recorded_cases <= {outcome.case.id for outcome in result.of(Verdict.FAILED)}
