"""A request class for Litestar. It answers 400 to input for which Litestar would raise an unexpected error."""

from __future__ import annotations

from typing import Any

from litestar import Request
from litestar.datastructures import URL
from litestar.exceptions import ClientException


class CheckedRequest(Request[Any, Any, Any]):
    async def json(self) -> Any:
        """Return the body. Refuses a body that is nested too deeply or is not UTF-8."""
        try:
            return await super().json()
        except RecursionError:
            raise _refused("body", "nested too deeply") from None
        except UnicodeDecodeError:
            raise _refused("body", "not UTF-8") from None

    @property
    def url(self) -> URL:
        """Return the URL of the request. Refuses an invalid port in `Host`."""
        try:
            return super().url
        except ValueError:
            raise _refused("Host", "not a host and a port") from None


def _refused(name: str, reason: str) -> ClientException:
    return ClientException(f"{name}: {reason}", extra=[{"key": name, "message": reason}])
