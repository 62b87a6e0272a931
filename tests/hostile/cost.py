"""The type of a function that measures how much CPU time an input costs the server."""

from __future__ import annotations

from collections.abc import Callable

Cost = Callable[[Callable[[], None]], float]
"""Runs an action a few times, and returns the least CPU time in seconds that the server spent on it."""
TIMES = "hostile times"
"""Name of the test report's property for how many times as much as the harmless input the hostile one cost."""
