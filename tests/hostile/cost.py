"""What an input costs."""

from __future__ import annotations

from collections.abc import Callable

Cost = Callable[[Callable[[], None]], float]
"""How much processor time, in seconds, the server spends while something is done to it; the least of a few tries."""
TIMES = "hostile times"
"""The property of a test's report that says how many times the harmless input's price the hostile one cost."""
