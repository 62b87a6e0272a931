"""Faults of the profile, which is not to be believed merely because it came from the right address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.refusals import BearerRefused, Problem
from chatkey_oauth.faults.bodies import change_profile
from chatkey_oauth.faults.fault import Fault

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer
    from chatkey_oauth.faults.moment import Moment

Why = Annotated[Problem, msgspec.Meta(description="Why: missing, unknown, expired, revoked, scope or nobody.")]
FLAGS = ("email_verified", "verified_email", "verified")


class ProfileRefused(Fault):
    """The access token just issued does not open the profile, in the words of this provider."""

    name = "profile-refused"
    legs = (Leg.PROFILE,)
    on_menu = True
    why: Why = Problem.UNKNOWN

    def instead(self, at: Moment) -> BearerRefused:
        """Refuse the access token as this provider refuses any that is bad for that reason."""
        return BearerRefused(self.why, "profile")


class OtherSubject(Fault):
    """The profile is another person's: its subject is not the one of the id_token, or of the last login."""

    name = "other-sub"
    legs = (Leg.PROFILE,)
    on_menu = True

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Replace the subject by another of the same type and length."""
        return change_profile(answer, change_subject)


class NoSubject(Fault):
    """The profile does not say whose it is."""

    name = "no-sub"
    legs = (Leg.PROFILE,)
    on_menu = True

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Leave the subject out of the profile."""
        return change_profile(answer, lambda profile, name: profile.pop(name) is not None)


class EmptySubject(Fault):
    """The subject of the profile is an empty text."""

    name = "empty-sub"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Set the subject to an empty text."""
        return change_profile(answer, clear_subject)


class EmailVerifiedText(Fault):
    """Whether the e-mail address is verified comes as a text, and "false" is true to a careless eye."""

    name = "email-verified-text"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Write whether the address is verified as a text, where the profile says it."""
        return change_profile(answer, flags_as_text)


class EmptyProfile(Fault):
    """The profile is an object without members."""

    name = "empty-profile"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Return 200 with an object that has no members."""
        return replace(answer, status=200, body=b"{}")


class ProfileList(Fault):
    """The profile is a list, where an object is due."""

    name = "profile-list"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Wrap the profile into a list."""
        return replace(answer, body=b"[" + answer.body + b"]")


def change_subject(profile: dict[str, Any], name: str) -> bool:
    """Replace the subject by somebody else's, of the same type and length."""
    subject = profile[name]
    last = str(subject)[-1:]
    other = f"{str(subject)[:-1]}{'1' if last != '1' else '2'}"
    profile[name] = int(other) if isinstance(subject, int) else other
    return True


def clear_subject(profile: dict[str, Any], name: str) -> bool:
    """Set the subject to an empty text."""
    profile[name] = ""
    return True


def flags_as_text(profile: dict[str, Any], name: str) -> bool:
    """Write booleans about verification as text; tell whether there were any."""
    del name
    flags = {flag: profile[flag] for flag in FLAGS if isinstance(profile.get(flag), bool)}
    profile.update({flag: "true" if value else "false" for flag, value in flags.items()})
    return bool(flags)
