"""A project for tests of the plugin. Their module loads the plugin `pytester`."""

import pytest
from tests.e2e.stand_ins import STAND_INS


@pytest.fixture
def harness(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that uses the plugin with stand-ins for the stack and the browser."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(STAND_INS)
    return pytester
