"""The checker's self-test, which runs the checker on every mutant and compares the verdicts with the expected ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.check.mutants import (
    alternating,
    backends,
    broken_answers,
    broken_callers,
    broken_people,
    broken_requests,
    broken_sessions,
    broken_times,
    broken_tokens,
    broken_workers,
    browsers,
    clocks,
    forged_sessions,
    hosting,
    limits,
    logins,
    pages,
    unusual_answers,
    unusual_sessions,
    unusual_shapes,
    unusual_tokens,
)
from tests.check.mutants.mutant_backend import (
    BROKEN,
    PROVIDER,
    SECRET,
    SESSIONS,
    UNUSUAL,
    Backend,
    Clock,
    jwt_session,
    signed_uid,
)
from tests.check.mutants.mutant_server import Server
from tests.check.mutants.received import Received

from chatkey_check.judging.check import Check
from chatkey_check.model import Outcome, Report, Verdict
from chatkey_check.reports.exits import status
from chatkey_check.run import opened
from chatkey_check.running.runner import report_of
from chatkey_check.target import Login, Target
from chatkey_check.wire.http import HttpWire

HERE: Final = Path(__file__).parent
MODULES: Final = (
    alternating,
    backends,
    broken_answers,
    broken_callers,
    broken_people,
    broken_requests,
    broken_sessions,
    broken_times,
    broken_tokens,
    broken_workers,
    browsers,
    clocks,
    forged_sessions,
    hosting,
    limits,
    logins,
    pages,
    unusual_answers,
    unusual_sessions,
    unusual_shapes,
    unusual_tokens,
)
FINDINGS: Final = frozenset({Verdict.FAIL, Verdict.WARN})


@dataclass(frozen=True)
class Mutant:
    """A line of `broken.jsonl`.

    The first finding must come from one of the checks in `caught_by` and have the verdict `level`.
    """

    id: str
    bug: str
    caught_by: tuple[str, ...]
    level: str = "fail"
    says: str = ""
    """The cause, which the message or the hint must contain if the checker can determine it."""
    reason: str = ""
    """The reason why this mutant is not run."""


@dataclass(frozen=True)
class Oddity:
    """A line of `unusual.jsonl`: the checks that may warn, and the expected exit status, such as `clean`."""

    id: str
    what: str
    may_warn: tuple[str, ...] = ()
    ends: str = "clean"


def mutants() -> list[Mutant]:
    return [mutant for mutant in all_mutants() if not mutant.reason]


def all_mutants() -> list[Mutant]:
    return [Mutant(**{**line, "caught_by": tuple(line["caught_by"])}) for line in _lines("broken.jsonl")]


def oddities() -> list[Oddity]:
    return [Oddity(**{**line, "may_warn": tuple(line.get("may_warn", ()))}) for line in _lines("unusual.jsonl")]


def _lines(name: str) -> Iterable[dict[str, Any]]:
    return (json.loads(line) for line in (HERE / name).read_text().splitlines())


def judge(
    server: Server,
    name: str,
    checks: Iterable[Check] | None = None,
    *,
    knowing: Callable[[Target], Target] = lambda target: target,
) -> Report:
    """Serve a mutant and check it, with a clock on which waiting takes no time. `knowing` changes the target first."""
    kind = BROKEN.get(name) or UNUSUAL[name]
    clock = Clock()
    secret = kind.options.get("secret", SECRET)
    received = Received(kind.forms)
    base = server.add(name, received.by(f"/{name}", kind(clock, secret).handle))
    if kind.whole_site:
        server.add(name.lower(), received.by("", kind(clock, secret).handle))
        base = f"http://{name.lower()}.localhost:{server.port}"
    target = knowing(target_for(kind, base, server.port, secret))
    wire = HttpWire(target, now=clock.now, monotonic=clock.monotonic)
    with opened(target, wire=wire, now=clock.now, sleep=clock.wait) as run:
        report = report_of(run, checks=checks)
    assert not received.strays(target)
    return report


def target_for(kind: type[Backend], base: str, port: int, secret: str) -> Target:
    """Return the target for a mutant. Options of the mutant override the usual ones."""
    special = dict(kind.options)
    address = str(special.pop("url", "{base}{path}"))
    where = {"base": base, "port": port}
    logins = {name: login(str(special.pop(name, name)), base, special) for name in ("login", "login_b")}
    special.pop("fields", None)
    filled = {name: value.format(**where) if isinstance(value, str) else value for name, value in special.items()}
    path = f"{base.partition(f':{port}')[2]}{kind.path}"
    url = address.format(**where, path=path if "{base}" not in address else kind.path)
    members: dict[str, Any] = {"url": url, "provider_id": PROVIDER, **logins, **filled, "secret": secret}
    return Target(**members)


def login(how: str, base: str, special: Mapping[str, Any]) -> Login | None:
    """Return a login by name: the cookie of Ada or Bo, or another kind of login that a mutant needs."""
    if ": " in how:
        name, _, value = how.partition(": ")
        return Login(((name, value),))
    fields = special.get("fields", {"user": "ada", "password": "hunter-2"})
    return {
        "login": Login((("Cookie", f"sid={SESSIONS['ada']}"),)),
        "login_b": Login((("Cookie", f"sid={SESSIONS['bo']}"),)),
        "form": Login(url=f"{base}/login", fields=tuple(fields.items()), passwords=("hunter-2", "hunter-3")),
        "form_b": Login(
            url=f"{base}/login", fields=(("user", "bo"), ("password", "hunter-2")), passwords=("hunter-2",)
        ),
        "bearer": Login((("Authorization", f"Bearer {SESSIONS['ada']}"),)),
        "csrf": Login((("Cookie", f"sid={SESSIONS['ada']}; csrftoken=c-5d2e9b71a4"),)),
        "with_hint": Login((("Cookie", f"sid={SESSIONS['ada']}; hint=shoes"),)),
        "with_address": Login((("Cookie", f"sid={SESSIONS['ada']}; last_login=ada@shop.example"),)),
        "with_zone": Login((("Cookie", f"sid={SESSIONS['ada']}; tz=Europe/Stockholm"),)),
        "uid": Login((("Cookie", "sid=u-1001"),)),
        "uid_b": Login((("Cookie", "sid=u-1002"),)),
        "uid_base64": Login((("Cookie", f"sid={base64.b64encode(b'u-1001').decode()}"),)),
        "with_uid": Login((("Cookie", f"sid={SESSIONS['ada']}; user_id=u-1001"),)),
        "signed_uid": Login((("Cookie", f"sid={signed_uid('u-1001')}"),)),
        "jwt": Login((("Cookie", f"sid={jwt_session('ada')}"),)),
        "None": None,
    }[how]


def complaint(mutant: Mutant, report: Report) -> str:
    """Return what is wrong with the verdict on a mutant, or an empty string."""
    first = next((outcome for outcome in report.outcomes if outcome.verdict in FINDINGS), None)
    if first is None:
        return "nothing was found"
    if first.check.id not in mutant.caught_by or first.verdict != mutant.level:
        wanted = f"{' or '.join(mutant.caught_by)} ({mutant.level})"
        return f"{said(first)} came first, not {wanted}"
    if mutant.says not in f"{first.message} {first.hint}":
        return f"{said(first)} does not say {mutant.says!r}"
    return general_complaint(report)


def odd_complaint(oddity: Oddity, report: Report) -> str:
    """Return what is wrong with the verdict on a correct endpoint, or an empty string."""
    for outcome in report.outcomes:
        allowed = outcome.verdict is Verdict.WARN and outcome.check.id in oddity.may_warn
        if outcome.verdict in FINDINGS and not allowed:
            return f"unjust: {said(outcome)}"
        if outcome.verdict is Verdict.BLOCKED and report.of(outcome.blocked_by).verdict is not Verdict.SKIP:
            return f"blocked: {outcome.check.id}, by {outcome.blocked_by}"
    ends = status(report).name.lower().replace("_", "-")
    if ends != oddity.ends:
        return f"ends {ends}, not {oddity.ends}: {[said(outcome) for outcome in report.missed]}"
    return general_complaint(report)


def general_complaint(report: Report) -> str:
    """Return what is wrong with any report: internal errors, findings without text, or visible secrets.

    Without faults, return an empty string.
    """
    for outcome in report.outcomes:
        if outcome.verdict is Verdict.ERROR:
            return said(outcome)
        if outcome.verdict in FINDINGS and not (outcome.message and outcome.hint):
            return f"{outcome.check.id} says nothing"
        shown = "\n".join([outcome.message, outcome.hint, *(f"{e.curl}\n{e.response}" for e in outcome.evidence)])
        if SECRET in shown or any(session in shown for session in SESSIONS.values()):
            return f"{outcome.check.id} shows a secret"
    return ""


def said(outcome: Outcome) -> str:
    return f"{outcome.check.id} ({outcome.verdict}: {outcome.message})"
