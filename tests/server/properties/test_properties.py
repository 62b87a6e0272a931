"""Tries each property on a few hundred inputs. `nox -s fuzz` tries as many inputs as time allows."""

from __future__ import annotations

import pytest
from tests.server.properties.kit.all_properties import IN_PROCESS
from tests.server.properties.kit.properties import ACCEPTED, Property

pytestmark = pytest.mark.long

SEED = 20


@pytest.mark.contract("D-05/strict-reading", "D-08/exact", "D-10/checks", "D-10/proof")
@pytest.mark.parametrize("tried", IN_PROCESS, ids=lambda tried: tried.name)
def test_the_server_judges_as_the_service_in_node_does(tried: Property) -> None:
    seen = tried.try_out(SEED, 150)

    assert not tried.both or (seen[ACCEPTED] and len(seen) > 1), f"too one-sided to show anything: {dict(seen)}"
