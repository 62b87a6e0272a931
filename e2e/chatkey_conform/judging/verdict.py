"""What becomes of a case, and of a sentence."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The first four are judgements; of a sentence the first that one of its cases has counts."""

    FAILED = "failed"
    KNOWN = "known failure"
    PASSED = "passed"
    ERROR = "harness error"
    NOT_APPLICABLE = "not applicable"
    NOT_SCORED = "not scored"
    NOT_RUN = "not run"


class Broken(Exception):
    """The target did not do what the profile promises. The message says what was wanted, and what came."""


class OtherLimit(Exception):
    """What a case would send is beyond a limit that the target declares to be its own."""


def expect(came: object, wanted: object, what: str) -> None:
    """Compare one thing that came with what the pages promise. Raises `Broken`."""
    if came != wanted:
        raise Broken(f"{what} is {shown(came)}, and has to be {shown(wanted)}")


def expect_that(held: object, what: str) -> None:
    """Raise `Broken` unless this holds; `what` is the whole sentence."""
    if not held:
        raise Broken(what)


def shown(value: object) -> str:
    """Return a value as people read it."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


LONGEST = 300
