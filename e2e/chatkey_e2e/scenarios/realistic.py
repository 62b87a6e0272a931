"""A browser as people have it: with popup blocker, back-forward cache, and slow timers in the background."""

import pytest

from chatkey_stack import browsers

realistically = pytest.mark.parametrize(
    "browser_type_launch_args", [browsers.REALISTIC], ids=["realistic"], indirect=True
)
"""Each set of arguments is a browser of its own, as pytest-playwright has it."""
