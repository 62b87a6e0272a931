"""Grade `lab`: the profile `lab.v1` over HTTP (docs/lab.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

import httpx

from chatkey_conform.capabilities import declared
from chatkey_conform.grades.business import Business, HarnessError
from chatkey_conform.grades.made import business_of, wire
from chatkey_conform.target import Target, TargetError
from chatkey_stack.patience import PATIENCE

PROFILE: Final = "lab.v1"
SHOWN: Final = 200


class LabBusinesses:
    """Sends requests to a lab. Raises `TargetError` if the environment does not contain the lab's token."""

    def __init__(self, target: Target, environ: Mapping[str, str] = os.environ) -> None:
        given = target.document.businesses
        token = environ.get(given.token_env, "") if given.token_env else ""
        if given.token_env and not token:
            raise TargetError(f"The environment variable {given.token_env}, for the lab's token, is not set.")
        self._url = given.url.rstrip("/")
        self._http = httpx.Client(
            verify=target.trust(),
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=2 * PATIENCE,
            trust_env=False,
        )

    def capabilities(self) -> frozenset[str]:
        told = self._ask("GET", "")
        if not isinstance(told, dict) or told.get("profile") != PROFILE:
            raise HarnessError(f"The lab's `profile` is not {PROFILE}.")
        return declared(map(str, told.get("capabilities") or ()))

    def prepared(self) -> tuple[Business, ...]:
        return ()

    def provision(self, wanted: Mapping[str, Any]) -> Business:
        return business_of(wanted, self._ask("POST", "/providers", wire(wanted)))

    def change(self, business: Business, changes: Mapping[str, Any]) -> None:
        self._ask("PATCH", f"/providers/{business.id}", wire(changes))

    def remove(self, business: Business) -> None:
        self._ask("DELETE", f"/providers/{business.id}")

    def advance(self, seconds: float) -> None:
        self._ask("POST", "/clock", {"advance": seconds})

    def reset(self) -> None:
        self._ask("POST", "/reset")

    def members(self, business: Business) -> list[dict[str, Any]]:
        return [dict(member) for member in self._ask("GET", f"/members?provider={business.id}") or ()]

    def agent(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self._ask("POST", "/agent", request) or {})

    def close(self) -> None:
        self._http.close()

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            answer = self._http.request(method, self._url + path, content=content, headers=headers)
        except httpx.HTTPError as error:
            raise HarnessError(f"The lab did not respond to {method} {path or '/'}: {error}.") from None
        if not answer.is_success:
            shown = answer.text[:SHOWN]
            raise HarnessError(f"The lab answered {method} {path or '/'} with {answer.status_code}: {shown}")
        try:
            return answer.json()["data"] if answer.content else None
        except (ValueError, KeyError, TypeError):
            raise HarnessError(f'The lab\'s answer to {method} {path or "/"} is not {{"data": …}}.') from None
