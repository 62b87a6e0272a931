"""The type of the fixture that makes clients of an assets server."""

from __future__ import annotations

from collections.abc import Callable

from litestar import Litestar
from litestar.testing import TestClient

MakeClient = Callable[..., TestClient[Litestar]]
