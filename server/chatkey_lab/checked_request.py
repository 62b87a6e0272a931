"""A Litestar request that refuses with 400 what the framework itself fails at."""

from __future__ import annotations

from typing import Any

from litestar import Request
from litestar.datastructures import URL
from litestar.exceptions import ClientException


class CheckedRequest(Request[Any, Any, Any]):
    """Raises `ClientException` for a body or a `Host` that makes Litestar raise some other exception."""

    async def json(self) -> Any:
        """Return the body; refuse one that is nested too deeply or not UTF-8."""
        try:
            return await super().json()
        except RecursionError:
            raise _refused("body", "nested too deeply") from None
        except UnicodeDecodeError:
            raise _refused("body", "not UTF-8") from None

    @property
    def url(self) -> URL:
        """Return the address, which Litestar quotes when it refuses a parameter; refuse a `Host` with a wrong port."""
        try:
            return super().url
        except ValueError:
            raise _refused("Host", "not a host and a port") from None


def _refused(name: str, reason: str) -> ClientException:
    return ClientException(f"{name}: {reason}", extra=[{"key": name, "message": reason}])
