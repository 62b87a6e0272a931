"""The lab's error responses. Each has a status, a code, and a message that names the invalid member and the remedy."""

from __future__ import annotations

from typing import Any, Final

from litestar import Request, Response
from litestar.exceptions import HTTPException

DOCUMENT: Final = "/lab/schema/openapi.json"


class LabRefused(Exception):
    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def failure(status: int, code: str, message: str) -> Response[dict[str, Any]]:
    return Response({"data": None, "error": {"code": code, "message": message}}, status_code=status)


def refused(_: Request[Any, Any, Any], error: LabRefused) -> Response[dict[str, Any]]:
    return failure(error.status, error.code, str(error))


def http_refused(request: Request[Any, Any, Any], error: HTTPException) -> Response[dict[str, Any]]:
    """Convert an error of Litestar, such as an unknown path, a wrong method or an invalid body, into a response."""
    if error.status_code == 404:
        return failure(404, "not_found", f"Nothing exists at {request.url.path}; {DOCUMENT} lists the endpoints.")
    extra = error.extra if isinstance(error.extra, list) else []
    wrong = "; ".join(f"{item.get('key', 'body')}: {item['message']}" for item in extra if isinstance(item, dict))
    code = "method_not_allowed" if error.status_code == 405 else "request_invalid"
    return failure(error.status_code, code, f"{wrong or error.detail}. {DOCUMENT} describes valid requests.")
