"""anon.garbage-session: a session that the site never issued gets no token."""

from __future__ import annotations

import re

from chatkey_check import reading
from chatkey_check.calls.sessions import random_like
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import SERVER_FAILS, Exchange
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.judging.forgeries import guessed
from chatkey_check.model import NOBODY, Finding, Severity, Skipped
from chatkey_check.run import Run

SIGNED = re.compile(r"(ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
LONG = 16
"""A quarter of a shorter session could be a session by chance."""
NONE = b'{"alg":"none","typ":"JWT"}'


@check(
    "anon.garbage-session",
    group=NOBODY,
    severity=Severity.MUST,
    section="4.7",
    sent="the call with a made-up value in every cookie of the login, also with a quote at its end, with the beginning "
    "of every value, and with empty cookies; if a cookie is a JWT, "
    "also with another signature, and with none; if a value contains readable details, also these with everything else "
    "made up, in every encoding that frameworks use",
    passes="no token, and no status of 500 or above",
    hint="Look up the session that the cookie names. The presence of a cookie proves nothing.",
    mistakes=(
        "the handler only checks whether there is a cookie",
        "a session that is a JWT is decoded, but its signature is not verified",
        "a signed cookie is read without checking the part after `--`, `.`, `:` or `|`",
        "an unknown session makes the handler crash",
        "the session is a part of an SQL statement, or is compared with LIKE",
    ),
    mend={
        "Python": 'try:\n    session = jwt.decode(cookie, session_key, algorithms=["HS256"])\n'
        "except jwt.InvalidTokenError:\n    session = {}",
        "Node.js": "let session = {};\ntry {\n  session = jwt.verify(cookie, sessionKey, "
        '{ algorithms: ["HS256"] });\n} catch {}',
    },
    needs=("anon.null",),
)
def garbage_session(run: Run) -> Finding:
    """Anyone can send a cookie. Therefore the mere presence of a cookie does not prove a login."""
    calls = run.calls
    if not calls.member.headers:
        raise Skipped("the login has no cookie and no header that could be changed")
    answer = calls.made_up
    if answer.minted:
        return failed(f"A made-up session gets a token for {reading.shown(answer.uid)}.", answer)
    if answer.response is None or answer.status >= 500:
        hint = "An expired session looks the same: treat its owner as logged out."
        return failed(f"The call with a made-up session fails: {answer.result}.", answer, hint=hint)
    if answer.redirected:
        hint = "An expired session looks the same: treat its owner as logged out, without a redirect."
        return failed(f"A made-up session is redirected to {answer.location} ({answer.status}).", answer, hint=hint)
    empty = calls.ask("an empty session", calls.member.replaced(lambda _: ""))
    if empty.minted:
        return failed(f"An empty cookie gets a token for {reading.shown(empty.uid)}.", empty)
    return _shortened(calls) or _quoted(calls) or _forged(calls) or _guessed(calls) or passed()


def _shortened(calls: Calls) -> Finding | None:
    """Call with only the beginning of each value of the session. Return the failure, if any."""
    answer = calls.ask("the beginning of the session", calls.member.replaced(_beginning))
    if not answer.minted:
        return None
    hint = "Compare the whole session. SQL's LIKE, for example, also finds a session by its beginning."
    return failed(f"The beginning of a session gets a token for {reading.shown(answer.uid)}.", answer, hint=hint)


def _beginning(value: str) -> str:
    return value[: len(value) // 4] if len(value) >= LONG else random_like(value)


def _quoted(calls: Calls) -> Finding | None:
    """Call with a made-up session that ends with a quote. Return the failure, if any."""
    quoted = calls.member.replaced(lambda value: f"{random_like(value)}'")
    answer = calls.ask("a made-up session that ends with a quote", quoted)
    if not answer.minted and answer.status < SERVER_FAILS:
        return None
    hint = "The session may become part of an SQL statement: pass it to the database as a parameter."
    return failed(f"A made-up session that ends with a quote gets {_got(answer)}.", answer, hint=hint)


def _got(answer: Exchange) -> str:
    return "a token" if answer.minted else f"status {answer.status}"


def _guessed(calls: Calls) -> Finding | None:
    """Call with the readable content of the session and everything else in it made up. Return the failure, if any."""
    login, person = calls.target.login, calls.token.claims
    typed = [value for _, value in login.fields if value not in login.passwords] if login else []
    digits = re.findall(r"\d+", str(person.get("uid")))
    known = [*(person.get(name) for name in ("uid", "email", "name")), *digits, *typed]
    guess = calls.member.replaced(lambda value: guessed(value, known) or random_like(value))
    if all(guessed(value, known) == "" for value in calls.member.values):
        return None
    answer = calls.ask("the session with everything made up that cannot be guessed", guess)
    if not answer.minted:
        return None
    hint = "Verify the session's signature on every call, or store the session on your server."
    what = "The session is not verified: its readable content alone is enough, so anyone can write one"
    return failed(f"{what} (for {reading.shown(answer.uid)}).", answer, hint=hint)


def _forged(calls: Calls) -> Finding | None:
    """If a JWT alone is the login, call with this JWT and a wrong signature. Return the failure, if any."""
    signed = calls.member.keeping(lambda value: SIGNED.search(value) is not None)
    if not signed.headers or not calls.ask("the session's JWT alone", signed).minted:
        return None
    answer = calls.ask("the session's JWT with another signature", signed.forged(SIGNED))
    if not answer.minted:
        answer = calls.ask(
            "the session's JWT with alg none", signed.replaced(lambda value: SIGNED.sub(_unsigned, value))
        )
    if not answer.minted:
        return None
    hint = "Verify the session's signature: anyone can write a payload."
    return failed("A session with a wrong signature is accepted.", answer, hint=hint)


def _unsigned(found: re.Match[str]) -> str:
    """Return a JWT whose header says that it is not signed (alg none)."""
    return f"{reading.encoded(NONE)}.{found[1].partition('.')[2]}."
