"""A business for one test, and requests by the visitors and members of the business."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_conform.making.issuer import Issuer

if TYPE_CHECKING:
    import httpx
    from tests.refusals.kit.shipped import Service


class Shop(Issuer):
    def __init__(self, service: Service, provider_id: str, secret: str) -> None:
        super().__init__(provider_id, secret, service.now)
        self._service = service
        self.path = f"/v1/public/provider/{provider_id}"

    def visitor_token(self) -> str:
        answer = self._service.http.get(f"{self.path}/token", params={"uid": self.key.uid})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["data"]["auth_token"])

    def exchange(self, auth: str, jkt: str | None = None) -> httpx.Response:
        """Send an identity token to the member token endpoint (contract 4.3)."""
        query = {"auth": auth, "jkt": self.key.jkt if jkt is None else jkt}
        return self._service.http.get(f"{self.path}/member/token", params=query)
