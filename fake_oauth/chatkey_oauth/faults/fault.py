"""What a fault is: a value whose fields are its options and whose methods bend what a provider does."""

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

Where = Annotated[Leg, msgspec.Meta(description="The leg it acts on.")]


class Fault(msgspec.Struct, forbid_unknown_fields=True):
    """One misbehaviour. The first line of a subclass's docstring is its description in the catalogue.

    Each method is a point at which a fault may act, and returns None where it leaves things as they are: only what
    does something counts as a hit.
    """

    name: ClassVar[str]
    legs: ClassVar[tuple[Leg, ...]]
    """Where it can act. One with an option `leg` acts on that one of them, any other on all."""

    on_menu: ClassVar[bool] = False
    """Whether the consent page offers it."""

    @property
    def acts_on(self) -> tuple[Leg, ...]:
        """The legs it acts on, as it was armed."""
        leg = getattr(self, "leg", None)
        return self.legs if leg is None else (leg,)

    def instead(self, at: Moment) -> Answer | Refusal | None:
        """Return what happens instead of the endpoint's work, or the refusal it ends with."""
        return None

    def grants(self, scopes: tuple[str, ...], at: Moment) -> tuple[str, ...] | None:
        """Return the scopes that are granted instead of these."""
        return None

    def callback(self, callback: Callback, at: Moment) -> Callback | None:
        """Return another way back to the client."""
        return None

    def token(self, body: dict[str, Any], at: Moment) -> dict[str, Any] | None:
        """Return other members of the token answer."""
        return None

    def id_token(self, token: Draft, at: Moment) -> Draft | None:
        """Return another id_token, before it is signed."""
        return None

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Return another answer in place of the finished one."""
        return None


def summary(kind: type[Fault]) -> str:
    """The description of a fault, in one line."""
    return (kind.__doc__ or "").partition("\n")[0].replace("`", "")
