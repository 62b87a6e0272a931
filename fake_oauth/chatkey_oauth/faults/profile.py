"""Faults of the profile response. Clients must check this response although it comes from the right address."""

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

Why = Annotated[Problem, msgspec.Meta(description="The reason: missing, unknown, expired, revoked, scope or nobody.")]
FLAGS = ("email_verified", "verified_email", "verified")


class ProfileRefused(Fault):
    """The profile endpoint refuses the new access token, in this provider's words."""

    name = "profile-refused"
    legs = (Leg.PROFILE,)
    on_menu = True
    why: Why = Problem.UNKNOWN

    def instead(self, at: Moment) -> BearerRefused:
        return BearerRefused(self.why, "profile")


class OtherSubject(Fault):
    """The profile is that of another person.

    Its subject differs from the id_token's subject or from the last login's.
    """

    name = "other-sub"
    legs = (Leg.PROFILE,)
    on_menu = True

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Use another subject of the same type and length."""
        return change_profile(answer, change_subject)


class NoSubject(Fault):
    """The profile has no subject."""

    name = "no-sub"
    legs = (Leg.PROFILE,)
    on_menu = True

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        return change_profile(answer, lambda profile, name: profile.pop(name) is not None)


class EmptySubject(Fault):
    """The subject of the profile is an empty string."""

    name = "empty-sub"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        return change_profile(answer, clear_subject)


class EmailVerifiedText(Fault):
    """The flag for a verified e-mail address is a string, so that a careless client takes "false" for true."""

    name = "email-verified-text"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Turn the flag for a verified address into a string, if the profile has this flag."""
        return change_profile(answer, flags_as_text)


class EmptyProfile(Fault):
    """The profile is an object without members."""

    name = "empty-profile"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer:
        return replace(answer, status=200, body=b"{}")


class ProfileList(Fault):
    """The profile is a list instead of an object."""

    name = "profile-list"
    legs = (Leg.PROFILE,)

    def answer(self, answer: Answer, at: Moment) -> Answer:
        return replace(answer, body=b"[" + answer.body + b"]")


def change_subject(profile: dict[str, Any], name: str) -> bool:
    """Replace the subject with another one of the same type and length. Return true, because the profile changes."""
    subject = profile[name]
    last = str(subject)[-1:]
    other = f"{str(subject)[:-1]}{'1' if last != '1' else '2'}"
    profile[name] = int(other) if isinstance(subject, int) else other
    return True


def clear_subject(profile: dict[str, Any], name: str) -> bool:
    """Set the subject to an empty string. Return true, because the profile changes."""
    profile[name] = ""
    return True


def flags_as_text(profile: dict[str, Any], name: str) -> bool:
    """Turn booleans about verification into strings. Return whether there were any."""
    del name
    flags = {flag: profile[flag] for flag in FLAGS if isinstance(profile.get(flag), bool)}
    profile.update({flag: "true" if value else "false" for flag, value in flags.items()})
    return bool(flags)
