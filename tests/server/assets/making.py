"""How tests ask for a client of the assets."""

from __future__ import annotations

from collections.abc import Callable

from litestar import Litestar
from litestar.testing import TestClient

MakeClient = Callable[..., TestClient[Litestar]]
