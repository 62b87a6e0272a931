"""claim.jkt-follows: each browser gets a token of its own."""

from __future__ import annotations

from chatkey_check import reading
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.mistakes.jkts import changed
from chatkey_check.model import BOUND, Blocked, Finding, Severity
from chatkey_check.run import Run


@check(
    "claim.jkt-follows",
    group=BOUND,
    severity=Severity.MUST,
    section="2.4",
    sent="a second call with another jkt; and one whose jkt is the first, with upper and lower case swapped",
    passes="cnf.jkt is the one that was sent",
    hint="Make a token for every call, or cache it by user and jkt together.",
    mistakes=(
        "tokens are cached by user",
        "the first browser's jkt is kept with the account",
        "a cache or a database compares them without upper and lower case, as MySQL does by default",
    ),
    mend={
        "Python": 'key = f"chat-token:{user.id}:{jkt}"',
        "Node.js": "const key = `chat-token:${user.id}:${jkt}`;",
        "PHP": '$key = "chat-token:{$user->id}:{$jkt}";',
    },
    needs=("claim.jkt-match",),
)
def jkt_follows(run: Run) -> Finding:
    """A person may use more than one browser, and each browser has its own key."""
    calls = run.calls
    answer = calls.second
    sent = answer.request.jkt
    if answer.jkt == sent:
        return _told_apart(run)
    if answer.jkt == calls.first.request.jkt:
        return failed("The token of the first call came back: it is cached by user, whatever the jkt.", answer)
    if calls.unknown_again is not None:
        raise Blocked("resp.session-kept")
    if not answer.minted:
        hint = "A person may use two browsers: give each call a token."
        if answer.status in {400, 422}:
            hint = "This jkt begins with `-`, as one in thirty-two does: accept [A-Za-z0-9_-]{43}, all of it."
        elif answer.succeeded and answer.member is None:
            hint = f"{hint} Sessions in a worker's memory are not known to the next worker."
        return failed(f"The second call got no token (status {answer.status or answer.broken}).", answer, hint=hint)
    message = f"cnf.jkt is {reading.shown(answer.jkt)}, you were sent {sent}"
    cause = changed(sent, str(answer.jkt))
    if cause:
        return failed(f"{message}: it is {cause.message}.", answer, hint=cause.hint)
    return failed(f"{message}.", answer)


def _told_apart(run: Run) -> Finding:
    """Call with the case of the first jkt swapped. The last letter stays: not every letter is valid there."""
    calls = run.calls
    jkt = calls.first.request.jkt
    answer = calls.ask("another jkt, the same but for its case", calls.member, jkt=f"{jkt[:-1].swapcase()}{jkt[-1:]}")
    if answer.jkt != jkt:
        return passed()
    hint = "Compare jkts byte for byte: with a binary collation, or as keys of a cache that tells case."
    return failed("The token of the first call came back for a jkt that differs in case only.", answer, hint=hint)
