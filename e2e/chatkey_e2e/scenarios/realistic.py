"""A browser with everyday settings: popup blocker, back-forward cache, and throttled timers in background tabs."""

import pytest

from chatkey_stack import browsers

realistically = pytest.mark.parametrize(
    "browser_type_launch_args", [browsers.REALISTIC], ids=["realistic"], indirect=True
)
"""pytest-playwright starts a separate browser for each set of arguments."""
