"""Compares the OpenAPI document with the running server, with valid and invalid requests from Schemathesis."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from tests.refusals.kit.shipped import OWN_KEYS, serving

pytestmark = pytest.mark.long

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # schemathesis warns about its dependencies
    import schemathesis
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import positive_data_acceptance

SEED = 20
KNOWN = {"id": "prov_a", "social": "google", "name": "sdk.js", "origin": "https://shop.example"}
"""Parameter values that exist on the server."""
NOT_JUDGED = [positive_data_acceptance]
"""Skips the check that valid input is accepted: the document cannot say which tokens, states and origins are right.

It describes only their form, and input of the wrong form is refused.
"""
REACHED = {
    "GET /v1/public/provider/{id}": {200, 404},
    "GET /v1/public/provider/{id}/token": {200, 404},
    "GET /v1/public/provider/{id}/member/token": {401, 404},
    "GET /v1/public/provider/{id}/oauth/{social}": {302, 404},
    "GET /v1/public/oauth/{social}/callback": {400, 404},
    "POST /v1/public/oauth/{social}/callback": {400, 404},
    "GET /assets/{name}": {200, 404},
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with one business. At the end, its log may contain no failure."""
    with serving(tmp_path_factory.mktemp("served"), {}) as service:
        service.shop(id=KNOWN["id"], socials=dict.fromkeys(("google", "github"), OWN_KEYS))
        yield service.base_url


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_is_documented_and_none_is_a_failure_of_ours(address: str, mode: GenerationMode) -> None:
    operations = (
        operation for operation in _operations(address) if mode is GenerationMode.POSITIVE or _can_err(operation)
    )

    seen = {operation.label: _try_out(operation, mode) for operation in operations}

    assert len(seen) >= 5
    for label, statuses in REACHED.items() if mode is GenerationMode.POSITIVE else ():
        assert statuses <= seen[label].keys(), f"{label} was only answered with {dict(seen[label])}"


def _operations(address: str) -> list[Any]:
    schema = schemathesis.openapi.from_url(f"{address}/schema/openapi.json")
    found: list[Any] = [*schema.get_all_operations()]
    return [operation.ok() for operation in found]


def _can_err(operation: Any) -> bool:
    """Return whether a request can violate the document. A path may have any text, and HEAD is judged like GET."""
    return operation.method.upper() != "HEAD" and any(
        parameter.location == "query" for parameter in operation.iter_parameters()
    )


def _try_out(operation: Any, mode: GenerationMode) -> Counter[int]:
    """Send requests to one operation, and judge the responses. Half of the requests use values that exist."""
    seen: Counter[int] = Counter()

    @seed(SEED)
    @settings(
        max_examples=15,
        database=None,
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
    @given(operation.as_strategy(generation_mode=mode), st.booleans())
    def answers(case: Any, knows: bool) -> None:
        if knows and mode is GenerationMode.POSITIVE:
            for members in (case.path_parameters, case.query):
                members.update({name: KNOWN[name] for name in members if name in KNOWN})
        answer = case.call()
        case.validate_response(answer, excluded_checks=NOT_JUDGED)
        seen[answer.status_code] += 1

    answers()
    return seen
