"""The lab's pages: the overview, and the page of a flow.

They run only the lab's script, and load nothing from other servers.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.pages import copied_line, html, policy, template
from chatkey_oauth.engine.text import clean
from chatkey_oauth.faults.catalogue import FAMILIES
from chatkey_oauth.faults.misbehaviour import DECLINED, REFUSED
from chatkey_oauth.ready_made import shown_keys
from chatkey_oauth.request_log import stand_in
from chatkey_oauth.timeline import steps_with_news

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.flows import Flow, Step, Verdict
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.world import Message
    from chatkey_oauth.faults.rules import FaultInfo, Rule
    from chatkey_oauth.lab.lab_wire import Overview, SessionShown, SwitchShown
    from chatkey_oauth.request_log import Entry

NEWEST: Final = 20
"""The maximum number of flows, and of requests, on the overview page."""

WAY: Final = (Leg.AUTHORIZE, Leg.CONSENT, Leg.CODE, Leg.TOKEN, Leg.PROFILE)
"""The steps of a successful login, in order."""

CODE: Final = re.compile("`([^`]+)`")

STEPS: Final = {"a minute": 60, "10 minutes": 600, "an hour": 3600, "a day": 86400}
"""The buttons that move the clock, with the number of seconds for each."""

SIGNS: Final = {"good": "✓", "absent": "○", "wrong": "✕", "odd": "!"}


VARY: Final = ("vary", "accept")
"""The header of responses that are a page or JSON, as the client asks."""


def is_wanted(call: Call) -> bool:
    """Return whether the client asks for a page instead of JSON, as browsers do."""
    return "text/html" in call.headers.get("accept", "")


class Lists(NamedTuple):
    """The lists on the overview page. The requests are sorted from old to new, the others from new to old."""

    flows: Sequence[Flow]
    requests: Sequence[Entry]
    people: Sequence[Person]
    sessions: Sequence[SessionShown]
    logouts: Sequence[Message]


def lab_page(found: Overview, lists: Lists, address: str, clients: Sequence[Client]) -> Answer:
    """Return the overview page of the lab at this address. The script of the page keeps its lists up to date.

    Unlike the clients of the overview, `clients` have their secrets. The page shows only secrets that are public.
    """
    flows, requests, people, sessions, logouts = lists
    armed, spent = ([rule for rule in found.rules if rule.spent is is_spent] for is_spent in (False, True))
    approval = f"automatic, as {found.auto_approve}" if found.auto_approve else "on the consent page"
    asking = option("", "nobody: ask on the page", selected=found.auto_approve is None)
    return page(
        "lab.html",
        lab=text(address),
        now=f"{datetime.fromtimestamp(found.now, UTC):%Y-%m-%d %H:%M:%S} UTC",
        facts=facts(
            (
                ("people", str(found.people)),
                ("requests", str(found.requests)),
                ("flows", str(found.flows)),
                ("approval", approval),
            )
        ),
        providers=rows((name, place.browser_url) for name, place in found.providers.items()),
        flows="\n".join(map(flow_row, flows[:NEWEST])) or nothing("There are no logins yet."),
        requests="\n".join(map(request_row, reversed(requests[-NEWEST:]))) or nothing("There are no requests yet."),
        last=str(found.requests),
        rules="\n".join(map(rule_row, armed)) or nothing("No fault is armed."),
        spent="\n".join(map(rule_row, spent)) or nothing("No fault has acted as often as it was armed to."),
        faults="\n".join(family(title, list(faults)) for title, faults in groupby(found.faults, family_of)),
        sessions="\n".join((*map(session_row, sessions[:NEWEST]), *map(logout_row, logouts[:NEWEST])))
        or nothing("Nobody is signed in."),
        switches="\n".join(map(switch_row, found.switches)),
        clients="\n".join(map(client_row, clients)) or nothing("No application is registered."),
        people="\n".join(map(person_row, people)) or nothing("There are no people who can sign in."),
        approve=asking + "".join(option(who.id, who.id, selected=who.id == found.auto_approve) for who in people),
        scopes="".join(option(name, name, selected=False) for name in found.providers),
        clock=" ".join(action(words, "POST", "/lab/clock", {"advance": seconds}) for words, seconds in STEPS.items()),
        script=script(),
    )


def flow_page(flow: Flow) -> Answer:
    """Return the page of one flow, from the authorization endpoint to the profile."""
    known = (
        ("client", flow.client_id),
        ("account", flow.account),
        ("login hint", flow.login_hint),
        ("cookie", flow.cookie),
        ("state", None if flow.state is None else stand_in(flow.state)),
    )
    return page(
        "flow.html",
        provider=text(flow.provider),
        flow=text(flow.id),
        began=f"{datetime.fromtimestamp(flow.began_at, UTC):%Y-%m-%d %H:%M:%S} UTC",
        facts=facts((name, value) for name, value in known if value),
        way="\n".join(station(flow, leg) for leg in WAY),
        steps="\n".join(step_item(flow, step, news) for step, news in steps_with_news(flow)),
    )


# Parts of the lab's page


def flow_row(flow: Flow) -> str:
    """Return the line of a flow, with a link to the flow's page. The end of the line says how the flow ended."""
    who = f" · <bdi>{text(flow.account)}</bdi>" if flow.account else ""
    when = f"{datetime.fromtimestamp(flow.began_at, UTC):%H:%M:%S}"
    bent = sum(len(step.faults) for step in flow.steps)
    faults = f' <span class="chip wrong">{bent} fault{"s" * (bent > 1)}</span>' if bent else ""
    mark, words = outcome(flow)
    return (
        f'<li><span class="when">{when}</span><a href="/lab/flows/{text(flow.id)}/page">{text(flow.provider)}{who}</a>'
        f'<span class="soft">{text(flow.client_id)}</span><span class="end">{chip(mark, words)}{faults}</span></li>'
    )


def outcome(flow: Flow) -> tuple[str, str]:
    """Return a mark and the words for the last step of a flow."""
    if not flow.steps:
        return "absent", "begun"
    last = flow.steps[-1]
    if any(step.note == DECLINED for step in flow.steps):
        return "odd", DECLINED
    if has_failed(last) or (last.leg is Leg.CODE and len(flow.steps) > 1 and has_failed(flow.steps[-2])):
        return "wrong", f"failed: {last.leg} {last.status}"
    return ("good" if last.leg in {Leg.TOKEN, Leg.PROFILE, Leg.REVOKE} else "absent"), f"{last.leg} {last.status}"


def request_row(entry: Entry) -> str:
    """Return the line of a request, with a link to its flow."""
    when = f"{datetime.fromtimestamp(entry.at, UTC):%H:%M:%S}"
    asked = f"<code>{text(entry.method)} {text(entry.path)}</code>"
    linked = f'<a href="/lab/flows/{text(entry.flow)}/page">{asked}</a>' if entry.flow else asked
    status = chip("wrong" if entry.status >= 400 else "good", str(entry.status))
    return (
        f'<li><span class="when">{when}</span><span>{text(entry.provider)} {linked}</span>'
        f'<span class="soft">{text(entry.client_id)}</span><span class="end">{status}</span></li>'
    )


def session_row(session: SessionShown) -> str:
    since = f"{datetime.fromtimestamp(session.auth_time, UTC):%H:%M:%S}"
    where = f"at {', '.join(session.clients) or 'no application'}"
    return (
        f"<li><b>{text(session.provider)}</b><span><bdi>{text(session.account)}</bdi> signed in at {since}"
        f' <span class="soft">{text(where)}</span></span></li>'
    )


def logout_row(message: Message) -> str:
    """Return the line of a logout token, with the response of the application."""
    mark = "good" if message.result.startswith("2") else "absent" if message.result == "sent" else "wrong"
    return (
        f"<li><b>{text(message.provider)}</b><span>logout token to <code>{text(message.uri)}</code></span>"
        f'<span class="end">{chip(mark, message.result)}</span></li>'
    )


def chip(mark: str, words: str) -> str:
    return f'<span class="chip {mark}"><span aria-hidden="true">{SIGNS[mark]}</span> {text(words)}</span>'


def rule_row(rule: Rule) -> str:
    """Return the line of an armed fault, with its scope and how often it has acted."""
    scope = ", ".join(f"{name} {value}" for name in rule.scope.__struct_fields__ if (value := scope_value(rule, name)))
    times = "hits, until disarmed" if rule.times is None else f"of {rule.times}"
    mark = "good" if rule.hits else "absent"
    return (
        f'<li><b>{text(rule.fault)}</b><span class="soft">{text(scope or "everyone")}</span>'
        f'<span class="end"><span class="chip {mark}">{rule.hits} {times}</span> '
        f"{action('Remove' if rule.spent else 'Disarm', 'DELETE', f'/lab/faults/{rule.id}')}</span></li>"
    )


def person_row(person: Person) -> str:
    """Return the line of a person, with what is special about the person."""
    parts = filter(None, (person.name or "no name", person.email or "no e-mail", person.note))
    what = " · ".join(f"<bdi>{text(part)}</bdi>" for part in parts)
    forget = action("Forget", "DELETE", f"/lab/people/{person.id}")
    return f'<li><b>{text(person.id)}</b><span class="soft">{what}</span>{forget}</li>'


def client_row(client: Client) -> str:
    """Return the line of a client, with the id and the public keys for a developer to copy."""
    name = f'<span class="soft">{text(client.name)}</span>' if client.name else ""
    keys = "".join(copied_line(*key) for key in shown_keys(client))
    return f"<li><b>{text(client.provider)}</b><div>{name}{keys}</div></li>"


def scope_value(rule: Rule, name: str) -> str | None:
    """Return one member of the scope of a rule. A fingerprint replaces `state`."""
    value: str | None = getattr(rule.scope, name)
    return stand_in(value) if value and name == "state" else value


def family_of(fault: FaultInfo) -> str:
    """Return the family of a fault, which is the part of a login that the fault affects."""
    return next((title for title, kinds in FAMILIES.items() if fault.name in {kind.name for kind in kinds}), "Others")


def family(title: str, faults: list[FaultInfo]) -> str:
    listed = "\n".join(map(fault_row, faults))
    return f'<div class="family"><h3>{text(title)}</h3><ul class="rows catalogue">\n{listed}\n</ul></div>'


def fault_row(fault: FaultInfo) -> str:
    legs = " ".join(fault.legs)
    options = "".join(f" <code>{text(option.name)}</code>" for option in fault.options)
    return (
        f'<li><span><b>{text(fault.name)}</b> <button data-fault="{text(fault.name)}">Arm</button></span>'
        f"<span>{prose(fault.summary)}</span>"
        f'<span class="soft small">{text(legs)}{options}</span></li>'
    )


def switch_row(switch: SwitchShown) -> str:
    position, mark = ("on", "good") if switch.on else ("off", "absent")
    turn = action("Turn off" if switch.on else "Turn on", "PUT", f"/lab/switches/{switch.key}", {"on": not switch.on})
    return (
        f'<li><span><b>{text(switch.key)}</b> <span class="chip {mark}">{position}</span> {turn}</span>'
        f'<span class="soft">{prose(switch.summary)}</span></li>'
    )


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f'<li><b>{text(name)}</b><span class="soft">{text(what)}</span></li>' for name, what in pairs)


def action(words: str, method: str, path: str, body: object = None) -> str:
    given = "" if body is None else f' data-body="{text(msgspec.json.encode(body).decode())}"'
    return f'<button data-method="{method}" data-path="{text(path)}"{given}>{text(words)}</button>'


def option(value: str, words: str, *, selected: bool) -> str:
    return f'<option value="{text(value)}"{" selected" * selected}>{text(words)}</option>'


def nothing(words: str) -> str:
    """Return a line that explains why a list is empty."""
    return f'<li class="soft">{words}</li>'


# Parts of a flow's page


def station(flow: Flow, leg: Leg) -> str:
    """Return one step in the overview of a flow. A sign shows whether the step is missing, failed or successful."""
    steps = [step for step in flow.steps if step.leg is leg]
    mark = "absent" if not steps else "wrong" if any(map(is_bad, steps)) else "good"
    reached = {"absent": "not reached", "wrong": "has problems", "good": "went well"}[mark]
    return (
        f'<li class="{mark}"><span class="sign" aria-hidden="true">{SIGNS[mark]}</span>{leg}'
        f'<span class="hidden">: {reached}</span></li>'
    )


def has_failed(step: Step) -> bool:
    """Return whether the provider refused. Some providers refuse with the status 200 or with a redirect."""
    return step.status >= 400 or step.note.startswith(REFUSED)


def is_bad(step: Step) -> bool:
    """Return whether a step failed, was changed by a fault, or has a protection that is wrong."""
    return has_failed(step) or bool(step.faults) or any(v.mark == "wrong" for v in step.verdicts.values())


def step_item(flow: Flow, step: Step, news: Mapping[str, Verdict]) -> str:
    """Return a step with its faults, its note, and its new verdicts."""
    faults = "".join(f'<li class="chip wrong">fault: {text(name)}</li>' for name in step.faults)
    verdicts = "".join(verdict_item(name, verdict) for name, verdict in news.items())
    note = f"<p>{text(step.note)}</p>" if step.note else ""
    return (
        f'<li class="{"wrong" if is_bad(step) else "good"}"><h2>{step.leg}'
        f'<span class="when">+{step.at - flow.began_at:.2f} s</span></h2>'
        f'<p class="request"><code>{text(step.method)} {text(step.path)}</code> <b>{step.status}</b></p>'
        f'{note}<ul class="verdicts">{faults}{verdicts}</ul></li>'
    )


def verdict_item(name: str, verdict: Verdict) -> str:
    """Return the verdict on one protection as a list item."""
    return (
        f'<li><span class="chip {verdict.mark}"><span aria-hidden="true">{SIGNS[verdict.mark]}</span> {text(name)}'
        f'<span class="hidden"> {verdict.mark}</span></span> {text(verdict.words)}</li>'
    )


# Helpers


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"<div><dt>{text(name)}</dt><dd><bdi>{text(value)}</bdi></dd></div>" for name, value in pairs)


def page(name: str, **parts: str) -> Answer:
    return html(template(name).substitute(parts, style=style()).encode(), policy(style(), parts.get("script", "")))


@cache
def style() -> str:
    return template("lab.css").template


@cache
def script() -> str:
    return template("copy.js").template + template("lab.js").template


def prose(value: str) -> str:
    """Convert a sentence to HTML. Text in backticks becomes code."""
    return CODE.sub(r"<code>\1</code>", text(value))


def text(value: str) -> str:
    """Escape text as HTML. Bytes that are not UTF-8 are replaced."""
    return escape(clean(value))
