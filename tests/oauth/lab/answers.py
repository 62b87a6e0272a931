"""Functions that read the answers of the control API."""

from __future__ import annotations

from typing import Any

import httpx


def data(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    assert set(answer.json()) == {"data"}
    return answer.json()["data"]


def error(answer: httpx.Response) -> tuple[int, str, str]:
    body = answer.json()
    assert body["data"] is None
    return answer.status_code, body["error"]["code"], body["error"]["message"]
