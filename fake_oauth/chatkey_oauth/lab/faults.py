"""The lab's endpoints that arm, list and disarm faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_oauth.faults.errors import FaultError
from chatkey_oauth.faults.rules import Order, Rule
from chatkey_oauth.lab.endpoints import Endpoint, delete, get, post
from chatkey_oauth.lab.refusals import LabRefused

if TYPE_CHECKING:
    from chatkey_oauth.fake import Fake


def fault_handlers(fake: Fake) -> list[Endpoint]:
    """Return the endpoints that arm, list and disarm faults."""

    @get("/faults", "The armed rules with their hits, including spent ones")
    def rules() -> list[Rule]:
        return fake.faults.rules()

    @post("/faults", "Arm a fault, for one hit by default; GET /lab lists all faults", status=201)
    def arm(data: Order) -> Rule:
        try:
            return fake.faults.arm(data)
        except FaultError as error:
            raise LabRefused(400, "fault_invalid", str(error)) from error

    @delete("/faults/{rule_id}", "Disarm a rule; the response has its number of hits")
    def disarm(rule_id: str) -> Rule:
        rule = fake.faults.disarm(rule_id)
        if rule is None:
            message = f"rule_id: there is no rule {rule_id!r}; GET /lab/faults lists all rules."
            raise LabRefused(404, "rule_unknown", message)
        return rule

    return [rules, arm, disarm]
