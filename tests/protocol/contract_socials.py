"""The social providers that the contract supports, and those that it only announces."""

from __future__ import annotations

import re
from typing import Final

from tools.contract import entries

_SENTENCE: Final = next(entry.text for entry in entries() if entry.id == "4.4/names")
SUPPORTED, ANNOUNCED = (
    tuple(re.split(", | and ", part.strip().partition(" are ")[0])) for part in _SENTENCE.split(";")
)
