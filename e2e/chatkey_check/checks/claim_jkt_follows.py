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
    sent="a second call with another jkt, which begins with `--`, and a third with the first jkt in swapped case",
    passes="cnf.jkt is the jkt that was sent",
    hint="Create a token for each call, or cache tokens by user and jkt together.",
    mistakes=(
        "tokens are cached by user",
        "the account stores the first browser's jkt",
        "a cache or a database ignores case when it compares jkts, as MySQL does by default",
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
    kept = next((name for name, value in calls.member.cookies.items() if value == answer.jkt), None)
    if kept is not None and answer.minted:
        hint = "Read jkt from the body of each call. The cookie is of an earlier call, and browsers share it."
        return failed(f"The jkt comes from the cookie {kept}, which an earlier call set.", answer, hint=hint)
    if answer.jkt == calls.first.request.jkt:
        return failed(
            "The second call got the token of the first call: tokens are cached by user, not by user and jkt.", answer
        )
    if calls.unknown_again is not None:
        raise Blocked("resp.session-kept")
    if not answer.minted:
        hint = "A person may use two browsers: each call must get a token."
        if answer.status in {400, 422}:
            hint = "This jkt begins with `-`, as one in 64 does. Accept every jkt that matches ^[A-Za-z0-9_-]{43}$."
        elif answer.status in {403, 406, 501}:
            hint = (
                "This jkt contains `--`, as one in a hundred does. A firewall may take that for SQL: exempt the route."
            )
        return failed(f"The second call got no token ({answer.result}).", answer, hint=hint)
    message = f"cnf.jkt is {reading.shown(answer.jkt)}, but {sent} was sent"
    cause = changed(sent, str(answer.jkt))
    if cause:
        return failed(f"{message}: it is {cause.message}.", answer, hint=cause.hint)
    return failed(f"{message}.", answer)


def _told_apart(run: Run) -> Finding:
    """Call with the first jkt in swapped case.

    The last letter is not swapped, because few letters are valid at the end.
    """
    calls = run.calls
    jkt = calls.first.request.jkt
    swapped = f"{jkt[:-1].swapcase()}{jkt[-1:]}"
    answer = calls.ask("the first jkt with swapped case", calls.member, jkt=swapped, measured=True)  # alone
    if answer.jkt != jkt:
        return passed()
    hint = "Compare jkts byte by byte: use a binary collation, or a cache with case-sensitive keys."
    return failed("A jkt that differs only in case got the token of the first call.", answer, hint=hint)
