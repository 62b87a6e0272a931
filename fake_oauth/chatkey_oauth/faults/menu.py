"""The lab's part of the consent form: the id of the flow, and a menu of faults for a person."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.refusals import ShownToPerson
from chatkey_oauth.faults.catalogue import FAMILIES, SIGNED
from chatkey_oauth.faults.errors import FaultError
from chatkey_oauth.faults.fault import summary
from chatkey_oauth.faults.rules import Order, Scope

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.flows import Flow
    from chatkey_oauth.faults.fault import Fault
    from chatkey_oauth.faults.rules import Faults

FIELD: Final = "misbehave"


def form_part(flow: Flow, *, with_id_token: bool) -> str:
    """Return the hidden field with the id of the flow, and the menu."""
    return f'<input type="hidden" name="flow" value="{flow.id}">{menu(with_id_token=with_id_token)}'


@cache
def menu(*, with_id_token: bool) -> str:
    """Return the menu. If the login will have no id_token, the menu does not offer id_token faults."""
    families = {title: [fault for fault in family if fault.on_menu] for title, family in FAMILIES.items()}
    if not with_id_token:
        del families[SIGNED]
    groups = "".join(group(title, faults) for title, faults in families.items() if faults)
    return (
        '<details class="misbehave"><summary>Misbehave</summary><p>Each selected fault acts once, in this '
        f'login only.</p><div class="faults">{groups}</div></details>'
    )


def group(title: str, faults: list[type[Fault]]) -> str:
    """Return the checkboxes for one family of faults."""
    rows = "".join(
        f'<label><input type="checkbox" name="{FIELD}" value="{fault.name}">'
        f"<span><b>{fault.name}</b> {escape(summary(fault))}</span></label>"
        for fault in faults
    )
    return f"<fieldset><legend>{escape(title)}</legend>{rows}</fieldset>"


def arm_chosen(faults: Faults, flow_id: str | None, call: Call) -> None:
    """Arm the faults that the person has selected. Each acts once, and only in this flow. Raises `ShownToPerson`."""
    if flow_id is None:
        return
    for name in dict.fromkeys(value for field, value in call.form_pairs if field == FIELD):
        try:
            faults.arm(Order(fault=name, scope=Scope(flow=flow_id)))
        except FaultError as error:
            raise ShownToPerson(400, "fault_unknown", str(error)) from error
