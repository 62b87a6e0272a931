"""The base class of faults. The fields are options, and the methods change the provider's behaviour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec

from chatkey_oauth.engine.flows import Leg

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.engine.refusals import Refusal
    from chatkey_oauth.engine.requests import Callback
    from chatkey_oauth.engine.signing import Draft
    from chatkey_oauth.faults.moment import Moment

BACK_CHANNEL = (Leg.TOKEN, Leg.PROFILE, Leg.KEYS, Leg.DISCOVERY, Leg.REVOKE)
BROWSER = (Leg.AUTHORIZE, Leg.CONSENT)
ANYWHERE = (*BACK_CHANNEL, *BROWSER)

Where = Annotated[Leg, msgspec.Meta(description="The leg on which the fault acts.")]


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    """One way to misbehave. The first line of a subclass's docstring is the fault's description in the catalogue.

    Each method is a point at which a fault can act. A method returns None if it changes nothing. Only changes count as
    hits.
    """

    name: ClassVar[str]
    legs: ClassVar[tuple[Leg, ...]]
    """The steps of a login on which the fault can act. An option `leg` restricts the fault to one step."""

    on_menu: ClassVar[bool] = False
    """Whether the consent page's menu offers this fault."""

    @property
    def acts_on(self) -> tuple[Leg, ...]:
        """The steps of a login on which this armed fault acts."""
        leg = getattr(self, "leg", None)
        return self.legs if leg is None else (leg,)

    def instead(self, at: Moment) -> Answer | Refusal | None:
        """Return a response to send instead of calling the endpoint. The method may also raise a refusal."""
        return None

    def grants(self, scopes: tuple[str, ...], at: Moment) -> tuple[str, ...] | None:
        """Return the scopes to grant instead of these."""
        return None

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        return None

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Return changed members of the token response."""
        return None

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        """Return a changed id_token. The result is signed afterwards."""
        return None

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        return None


def summary(kind: type[Fault]) -> str:
    """Return the description of a fault, in one line."""
    return (kind.__doc__ or "").partition("\n")[0].replace("`", "")
