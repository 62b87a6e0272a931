"""conc.isolated: simultaneous calls do not get each other's data."""

from __future__ import annotations

from collections.abc import Iterator

from chatkey_check import reading
from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import PARALLEL, Calls
from chatkey_check.exchange import BUSY as UNAVAILABLE
from chatkey_check.exchange import TOO_MANY, Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import BOUND, Finding, Severity, Skipped
from chatkey_check.run import Run
from chatkey_check.words import plural

BUSY = frozenset({TOO_MANY, UNAVAILABLE})
FEWEST = 2
"""With fewer tokens, nothing can be mixed up."""
PROFILE = ("name", "email", "avatar")


@check(
    "conc.isolated",
    group=BOUND,
    severity=Severity.MUST,
    section="2.4",
    sent=f"{PARALLEL} calls at once, each with its own jkt, by all logins and a visitor",
    passes="each token has the jkt and the uid of its own call",
    hint="Keep jkt and user in local variables. At present, requests share a variable that contains jkt or user.",
    mistakes=(
        "the jkt or the user is in a module variable, a singleton or a field of the handler",
        "several calls at once fail because the database connections run out",
    ),
    mend={
        "Python": 'jkt = body.get("jkt")',
        "Node.js": "const jkt = request.body.jkt;",
    },
    needs=("claim.jkt-follows",),
)
def isolated(run: Run) -> Finding:
    """If two requests share a variable, one request can get the value of the other request.

    The fault appears only under load.
    """
    calls = run.calls
    for exchange, what in _mixed(calls):
        return failed(what, exchange)
    done = [exchange for _, exchange in calls.together]
    crashed = [
        exchange for session, exchange in calls.together if _crashed(exchange) and not _crashed(calls.alone(session))
    ]
    if crashed and not calls.record.flaky:  # otherwise the number of calls is not the cause
        how = crashed[0].result
        hint = "The handler fails if calls arrive at the same time. Look in the backend's log."
        return failed(
            f"{len(crashed)} of {plural(len(done), 'simultaneous call')} failed ({how}).", crashed[0], hint=hint
        )
    minted = sum(exchange.minted for exchange in done)
    limited = [exchange for exchange in done if exchange.status in BUSY]
    if minted < FEWEST and limited:
        raise Skipped(_refused(calls, limited[0], len(done)))
    return passed(f"{plural(minted, 'token')} from {plural(len(done), 'call')} at once")


def _refused(calls: Calls, refused: Exchange, count: int) -> str:
    if refused.throttled:
        return calls.limited_by(refused)
    return f"the endpoint refuses {plural(count, 'call')} at once ({refused.status}), so they cannot be compared"


def _crashed(exchange: Exchange) -> bool:
    return exchange.status not in BUSY and not 0 < exchange.status < 500


def _mixed(calls: Calls) -> Iterator[tuple[Exchange, str]]:
    """Yield each call that got the answer of another caller, with a message.

    The answer is compared with the answer that the caller gets when no other call is in progress.
    """
    uids = {session.name: calls.alone(session).uid for session, _ in calls.together}
    for session, exchange in calls.together:
        if session is calls.nobody and (calls.anonymous.minted or exchange.uid not in uids.values()):
            continue  # anon.null reports the tokens of visitors, except those that are mixed up only under load
        own = uids[session.name]
        others = [uid for name, uid in uids.items() if name != session.name]
        if _is_null(exchange) and own is not None and not _is_null(calls.ask("the same call again, alone", session)):
            yield exchange, f"A call by {session.name} got null, as if nobody were logged in."
        if not exchange.minted:
            continue
        sent = exchange.request.jkt
        if exchange.jkt != sent:
            yield exchange, f"A call with the jkt {sent} got a token for the jkt {reading.shown(exchange.jkt)}."
        stable = session is calls.member and calls.second.uid == calls.token.uid and isinstance(exchange.uid, str)
        if exchange.uid != own and (exchange.uid in others or stable):
            who = f"the person {reading.shown(own)}" if own else "a visitor"
            yield exchange, f"A call by {who} got a token for {reading.shown(exchange.uid)}."
        lent = _lent(calls, session, exchange)
        if lent:
            yield exchange, lent


def _lent(calls: Calls, session: Session, exchange: Exchange) -> str:
    """Return a message if a profile claim of the token belongs to another caller; otherwise an empty text."""
    own = calls.alone(session).claims
    for name in PROFILE:
        got = exchange.claims.get(name)
        others = {str(calls.alone(one).claims.get(name)) for one, _ in calls.together if one is not session}
        if isinstance(got, str) and got != own.get(name) and got in others:
            return f"A call by {reading.shown(own.get('uid'))} got another person's {name}: {reading.shown(got)}."
    return ""


def _is_null(exchange: Exchange) -> bool:
    return exchange.succeeded and exchange.member is None
