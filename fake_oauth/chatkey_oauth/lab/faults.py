"""The lab's endpoints that arm, list and disarm faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from litestar import delete, get, post
from litestar.params import FromPath, JSONBody

from chatkey_oauth.faults.errors import FaultError
from chatkey_oauth.faults.rules import Order, Rule
from chatkey_oauth.lab.lab_wire import Data
from chatkey_oauth.lab.refusals import LabRefused

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_oauth.fake import Fake


def fault_handlers(fake: Fake) -> list[HTTPRouteHandler]:
    """Return the endpoints that arm, list and disarm faults."""

    @get("/faults", summary="The armed rules with their hits, including spent ones")
    async def rules() -> Data[list[Rule]]:
        return Data(fake.faults.rules())

    @post("/faults", status_code=201, summary="Arm a fault, for one hit by default; GET /lab lists all faults")
    async def arm(data: JSONBody[Order]) -> Data[Rule]:
        try:
            return Data(fake.faults.arm(data))
        except FaultError as error:
            raise LabRefused(400, "fault_invalid", str(error)) from error

    @delete("/faults/{rule_id:str}", status_code=200, summary="Disarm a rule; the response has its number of hits")
    async def disarm(rule_id: FromPath[str]) -> Data[Rule]:
        rule = fake.faults.disarm(rule_id)
        if rule is None:
            message = f"rule_id: there is no rule {rule_id!r}; GET /lab/faults lists all rules."
            raise LabRefused(404, "rule_unknown", message)
        return Data(rule)

    return [rules, arm, disarm]
