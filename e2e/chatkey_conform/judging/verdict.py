"""The verdicts on cases and sentences, and the exceptions and checks that lead to verdicts."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a case or a sentence. A sentence has the worst verdict of its cases (`outcome.WORST_FIRST`)."""

    FAILED = "failed"
    KNOWN = "known failure"
    PASSED = "passed"
    ERROR = "harness error"
    NOT_APPLICABLE = "not applicable"
    NOT_SCORED = "not scored"
    NOT_RUN = "not run"


class Broken(Exception):
    """The target does not behave as the profile requires. The message states the expected and the actual behaviour."""


class OtherLimit(Exception):
    """The case would have to exceed a limit that the target declares."""


def expect(came: object, wanted: object, what: str) -> None:
    """Compare a received value with the expected value. Raises `Broken`."""
    if came != wanted:
        raise Broken(f"{what}: expected {shown(wanted)}, got {shown(came)}")


def expect_that(held: object, what: str) -> None:
    """Raise `Broken` with the message `what` unless `held` is true."""
    if not held:
        raise Broken(what)


def shown(value: object) -> str:
    """Return a value as readable text, shortened."""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


LONGEST = 300
