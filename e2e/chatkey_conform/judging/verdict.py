"""The verdicts on cases and sentences, and the exceptions and checks that lead to verdicts."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a case or a sentence. A sentence has the worst verdict of its cases (`outcome.WORST_FIRST`)."""

    FAILED = "failed"
    KNOWN = "known failure"
    NOT_STRICT = "not strict"
    PASSED = "passed"
    ERROR = "harness error"
    NOT_APPLICABLE = "not applicable"
    NOT_SCORED = "not scored"
    NOT_RUN = "not run"


class Broken(Exception):
    """The target does not behave as the profile requires. The message states the expected and the actual behaviour."""


class OtherRefusal(Broken):
    """The target refused, but with another code, status or close code than the profile requires.

    The failure is charged to the sentence `charged` of the profile. The contract's sentences require only the refusal.
    """

    def __init__(self, message: str, charged: str, *, other_status: bool = False) -> None:
        super().__init__(message)
        self.charged = charged
        self.other_status = other_status


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
