"""The lab's pages: everything there is, and one flow. No script but the lab's own, nothing external."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import msgspec
from litestar import Response

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.pages import html, policy, template
from chatkey_oauth.engine.text import clean
from chatkey_oauth.faults.catalogue import FAMILIES
from chatkey_oauth.request_log import stand_in
from chatkey_oauth.timeline import steps_with_news

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from litestar import Request

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.flows import Flow, Step, Verdict
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.faults.rules import FaultInfo, Rule
    from chatkey_oauth.lab.lab_wire import Overview, SwitchShown

NEWEST: Final = 20
"""How many flows the lab's page lists."""

WAY: Final = (Leg.AUTHORIZE, Leg.CONSENT, Leg.CODE, Leg.TOKEN, Leg.PROFILE)
"""The way of a login that goes well."""

CODE: Final = re.compile("`([^`]+)`")

STEPS: Final = {"a minute": 60, "10 minutes": 600, "an hour": 3600, "a day": 86400}
"""By how much the clock is moved at a click."""

SIGNS: Final = {"good": "✓", "absent": "○", "wrong": "✕", "odd": "!"}


def is_wanted(request: Request[Any, Any, Any]) -> bool:
    """Tell whether a page is asked for rather than JSON, as browsers do."""
    return "text/html" in request.headers.get("accept", "")


def response(answer: Answer) -> Response[Any]:
    """A page as the lab's framework sends it."""
    return Response(answer.body, status_code=answer.status, headers=dict(answer.headers) | {"vary": "accept"})


def lab_page(
    found: Overview, flows: Sequence[Flow], people: Sequence[Person], address: str, secrets: Callable[[Client], str]
) -> Answer:
    """Everything there is, in the lab at this address. `secrets` tells what of an application everybody may know."""
    approval = f"as {found.auto_approve}, unasked" if found.auto_approve else "on the consent page"
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
        flows="\n".join(map(flow_row, flows[:NEWEST])) or nothing("No login was tried yet."),
        rules="\n".join(map(rule_row, found.rules)) or nothing("No fault is armed."),
        faults="\n".join(family(title, list(faults)) for title, faults in groupby(found.faults, family_of)),
        switches="\n".join(map(switch_row, found.switches)),
        clients="\n".join(client_row(client, secrets(client)) for client in found.clients)
        or nothing("No application is registered."),
        people="\n".join(map(person_row, people)) or nothing("Nobody can sign in."),
        approve=asking + "".join(option(who.id, who.id, selected=who.id == found.auto_approve) for who in people),
        scopes="".join(option(name, name, selected=False) for name in found.providers),
        clock=" ".join(action(words, "POST", "/lab/clock", {"advance": seconds}) for words, seconds in STEPS.items()),
        script=script(),
    )


def flow_page(flow: Flow) -> Answer:
    """One flow from the authorization endpoint to the profile."""
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
    """A flow as a line that leads to its page."""
    who = f" · <bdi>{text(flow.account)}</bdi>" if flow.account else ""
    when = f"{datetime.fromtimestamp(flow.began_at, UTC):%H:%M:%S}"
    last = f"{flow.steps[-1].leg} {flow.steps[-1].status}" if flow.steps else "begun"
    bent = sum(len(step.faults) for step in flow.steps)
    faults = f' <span class="chip wrong">{bent} fault{"s" * (bent > 1)}</span>' if bent else ""
    return (
        f'<li><span class="when">{when}</span><a href="/lab/flows/{text(flow.id)}/page">{text(flow.provider)}{who}</a>'
        f'<span class="soft">{text(flow.client_id)}</span><span class="end">{text(last)}{faults}</span></li>'
    )


def rule_row(rule: Rule) -> str:
    """An armed fault, for whom, and how often it was met."""
    scope = ", ".join(f"{name} {value}" for name in rule.scope.__struct_fields__ if (value := scope_value(rule, name)))
    times = "until disarmed" if rule.times is None else f"of {rule.times}"
    mark = "good" if rule.hits else "absent"
    return (
        f'<li><b>{text(rule.fault)}</b><span class="soft">{text(scope or "everyone")}</span>'
        f'<span class="end"><span class="chip {mark}">{rule.hits} {times}</span> '
        f"{action('Disarm', 'DELETE', f'/lab/faults/{rule.id}')}</span></li>"
    )


def person_row(person: Person) -> str:
    """A person, and what is special about them."""
    what = " · ".join(filter(None, (person.name or "no name", person.email or "no e-mail", person.note)))
    forget = action("Forget", "DELETE", f"/lab/people/{person.id}")
    return f'<li><b>{text(person.id)}</b><span class="soft"><bdi>{text(what)}</bdi></span>{forget}</li>'


def client_row(client: Client, secret: str) -> str:
    """An application, with what a developer copies into a configuration."""
    proof = f'<span class="soft">secret</span> {copied(secret)}' if secret else ""
    return (
        f'<li><b>{text(client.provider)}</b><span><span class="soft">{text(client.name)}</span> '
        f"{copied(client.client_id)} {proof}</span></li>"
    )


def copied(value: str) -> str:
    """A value with a button that copies it."""
    shown = text(value)
    return f'<code>{shown}</code> <button data-copy="{shown}" aria-label="Copy {shown}">Copy</button>'


def scope_value(rule: Rule, name: str) -> str | None:
    """What a rule's scope demands of a member; of `state` only the fingerprint is shown."""
    value: str | None = getattr(rule.scope, name)
    return stand_in(value) if value and name == "state" else value


def family_of(fault: FaultInfo) -> str:
    """Where a login meets a fault."""
    return next((title for title, kinds in FAMILIES.items() if fault.name in {kind.name for kind in kinds}), "Others")


def family(title: str, faults: list[FaultInfo]) -> str:
    """The faults that a login meets at one place."""
    listed = "\n".join(map(fault_row, faults))
    return f'<div class="family"><h3>{text(title)}</h3><ul class="rows catalogue">\n{listed}\n</ul></div>'


def fault_row(fault: FaultInfo) -> str:
    """A fault of the catalogue."""
    legs = " ".join(fault.legs)
    options = "".join(f" <code>{text(option.name)}</code>" for option in fault.options)
    return (
        f'<li><span><b>{text(fault.name)}</b> <button data-fault="{text(fault.name)}">Arm</button></span>'
        f"<span>{prose(fault.summary)}</span>"
        f'<span class="soft small">{text(legs)}{options}</span></li>'
    )


def switch_row(switch: SwitchShown) -> str:
    """A switch, and how it stands."""
    position, mark = ("on", "good") if switch.on else ("off", "absent")
    turn = action("Turn off" if switch.on else "Turn on", "PUT", f"/lab/switches/{switch.key}", {"on": not switch.on})
    return (
        f'<li><span><b>{text(switch.key)}</b> <span class="chip {mark}">{position}</span> {turn}</span>'
        f'<span class="soft">{prose(switch.summary)}</span></li>'
    )


def rows(pairs: Iterable[tuple[str, str]]) -> str:
    """Lines of a name and what there is to it."""
    return "\n".join(f'<li><b>{text(name)}</b><span class="soft">{text(what)}</span></li>' for name, what in pairs)


def action(words: str, method: str, path: str, body: object = None) -> str:
    """A button that asks the lab for something."""
    given = "" if body is None else f' data-body="{text(msgspec.json.encode(body).decode())}"'
    return f'<button data-method="{method}" data-path="{text(path)}"{given}>{text(words)}</button>'


def option(value: str, words: str, *, selected: bool) -> str:
    """A choice of a select."""
    return f'<option value="{text(value)}"{" selected" * selected}>{text(words)}</option>'


def nothing(words: str) -> str:
    """A line that says why there is none."""
    return f'<li class="soft">{words}</li>'


# Parts of a flow's page


def station(flow: Flow, leg: Leg) -> str:
    """A leg of the way, with a sign that says how far the flow came and how it went there."""
    steps = [step for step in flow.steps if step.leg is leg]
    mark = "absent" if not steps else "wrong" if any(map(is_bad, steps)) else "good"
    reached = {"absent": "no such step", "wrong": "something is wrong", "good": "went well"}[mark]
    return (
        f'<li class="{mark}"><span class="sign" aria-hidden="true">{SIGNS[mark]}</span>{leg}'
        f'<span class="hidden">: {reached}</span></li>'
    )


def is_bad(step: Step) -> bool:
    """Tell whether a step failed, was bent, or lacks a protection it should have."""
    return step.status >= 400 or bool(step.faults) or any(v.mark == "wrong" for v in step.verdicts.values())


def step_item(flow: Flow, step: Step, news: Mapping[str, Verdict]) -> str:
    """A step with everything that is to be said of it and was not said before."""
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
    """What is to be said of one protection."""
    return (
        f'<li><span class="chip {verdict.mark}"><span aria-hidden="true">{SIGNS[verdict.mark]}</span> {text(name)}'
        f'<span class="hidden"> {verdict.mark}</span></span> {text(verdict.words)}</li>'
    )


# Small things


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A list of names and values."""
    return "".join(f"<div><dt>{text(name)}</dt><dd><bdi>{text(value)}</bdi></dd></div>" for name, value in pairs)


def page(name: str, **parts: str) -> Answer:
    """A page of the lab, filled in."""
    return html(template(name).substitute(parts, style=style()), policy(style(), parts.get("script", "")))


@cache
def style() -> str:
    """The style sheet of the lab's pages."""
    return template("lab.css").template


@cache
def script() -> str:
    """The script of the lab's page."""
    return template("lab.js").template


def prose(value: str) -> str:
    """A sentence as HTML, with code where it has backticks."""
    return CODE.sub(r"<code>\1</code>", text(value))


def text(value: str) -> str:
    """Text as HTML, whatever bytes it came from."""
    return escape(clean(value))
