"""The pages that a person sees: consent, error, the form that submits itself, and avatars.

The pages work without their scripts, which only search and copy. They load nothing from other servers.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.text import clean, fingerprint
from chatkey_protocol.logos import LOGOS

if TYPE_CHECKING:
    from chatkey_oauth.engine.call import Call
    from chatkey_oauth.engine.dialect import Dialect
    from chatkey_oauth.engine.people import People, Person
    from chatkey_oauth.engine.refusals import ShownToPerson
    from chatkey_oauth.engine.requests import AuthorizationRequest
    from chatkey_protocol.logos import Shape

FOLDER: Final = Path(__file__).parent.parent / "pages"
HUES: Final = 12
GAP: Final = "\0"
NAME: Final = re.compile(r"\$(\w+)")


def consent_page(provider: Dialect, call: Call, request: AuthorizationRequest, *, selected: Person | None) -> Answer:
    """Return the page that asks for the account and for consent.

    The account `selected` is the first in the list and is preselected.
    """
    people = provider.world.people
    values = {
        "client": escape(clean(request.client.title)),
        "action": escape(clean(f"{provider.browser_path}{provider.consent_path(call)}?{call.query_string}")),
        "shares": "\n".join(share(provider, request, scope) for scope in request.scopes)
        or "<li><span>Public details</span></li>",
        "choices": provider.choices(request),
        "lab": call.hooks.form_part(request),
        "destination": escape(urlsplit(request.redirect_uri).netloc or request.redirect_uri),
    }
    before, after = consent_form()
    listed = accounts(people, people.changes, selected.id if selected else None)
    content = b"".join(((before % values).encode(), listed, (after % values).encode()))
    return page(provider, content, title=f"Sign in with {escape(provider.label)}", code=plain("search.js"))


@cache
def consent_form() -> list[str]:
    """Return the template of the consent form in two halves: before and after the list of accounts.

    The halves are for the operator `%`, which is faster than `Template`.
    """
    return NAME.sub(r"%(\1)s", plain("consent.html").replace("%", "%%")).split("%(accounts)s")


@lru_cache(maxsize=64)
def accounts(people: People, changes: int, selected: str | None) -> bytes:
    """Return the list of accounts.

    The result is cached until `changes` is another number, because the list is most of the page and rarely changes.
    """
    del changes
    listed = sorted(people.all(), key=lambda person: person.id != selected)
    return "\n".join(account(person, checked=person is listed[0]) for person in listed).encode()


def account(person: Person, *, checked: bool) -> str:
    name, email = person.name or person.login, person.email or f"@{person.login}"
    noted = f" <i>· {escape(person.note)}</i>" if person.note else ""
    return (
        f'<label class="account"><input type="radio" name="account" value="{person.id}"{" checked" * checked} required>'
        f'<span class="face hue-{hue(person.id)}" aria-hidden="true">{escape(initial(name))}</span>'
        f'<span class="who"><bdi class="name">{escape(clean(name))}</bdi>'
        f'<span class="email"><bdi>{escape(clean(email))}</bdi>{noted}</span></span></label>'
    )


def share(provider: Dialect, request: AuthorizationRequest, scope: str) -> str:
    """Return one entry in the list of scopes. If the person may deselect the scope, the entry has a checkbox."""
    words = escape(clean(provider.scopes.get(scope, scope)))
    if scope not in provider.may_decline(request):
        return f"<li><span>{words}</span></li>"
    value = escape(scope)
    return (
        f'<li><input type="hidden" name="offered" value="{value}">'
        f'<label><input type="checkbox" name="share" value="{value}" checked>{words}</label></li>'
    )


def error_page(provider: Dialect, refusal: ShownToPerson) -> Answer:
    title = escape(f"Error {refusal.status}: {refusal.error}")
    heading, message = escape(provider.error_heading), escape(clean(provider.error_lead + refusal.message))
    advice = f'<p class="advice"><b>For the developer</b> {escape(refusal.advice)}</p>' if refusal.advice else ""
    content = template("error.html").substitute(title=title, heading=heading, message=message, advice=advice)
    return page(provider, content, title=title, status=refusal.status)


def closing_page(provider: Dialect) -> Answer:
    """Return a page that tells the person to close the window."""
    return page(provider, plain("closing.html"))


def sign_out_page(provider: Dialect, *, action: str, params: Mapping[str, str]) -> Answer:
    """Return the page that asks whether the person wants to sign out. `params` are those of the logout request."""
    inputs = "".join(
        f'<input type="hidden" name="{escape(clean(name))}" value="{escape(clean(value))}">'
        for name, value in params.items()
    )
    content = template("sign_out.html").substitute(
        label=escape(provider.label), action=escape(clean(action)), inputs=inputs
    )
    return page(provider, content)


def signed_out_page(provider: Dialect) -> Answer:
    return page(provider, plain("signed_out.html"))


def form_post(redirect_uri: str, params: Mapping[str, str]) -> Answer:
    """Return a form that submits itself to the client (OAuth 2.0 Form Post Response Mode).

    The page allows a referrer. Without a referrer, browsers would send `Origin: null`, which they do not send from the
    real providers' forms.
    """
    inputs = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(clean(value))}">' for name, value in params.items()
    )
    submit = template("form_post.js").template.rstrip()
    body = template("form_post.html").substitute(action=escape(redirect_uri), inputs=inputs, script=submit)
    content_policy = f"default-src 'none'; script-src '{digest(submit)}'; base-uri 'none'; frame-ancestors 'none'"
    return html(body.encode(), content_policy, referrer="strict-origin")


def index_page(places: Iterable[tuple[str, str, Iterable[tuple[str, str]]]], *, lab: bool) -> Answer:
    """Return the front page: for each provider its name, its address, and the ids and secrets of its applications.

    If the lab is on, there is a link to the lab.
    """
    bases = "\n".join(
        f"<li><b>{escape(name)}</b>{''.join(copied_line(*row) for row in (('address', address), *keys))}</li>"
        for name, address, keys in places
    )
    css = style(("#3b5bdb", "#5c7cfa"))
    more = '<p class="leads"><a href="/lab">The lab</a>: applications, flows, faults</p>' if lab else ""
    body = template("index.html").substitute(style=css, bases=bases, more=more, script=plain("copy.js"))
    return html(body.encode(), policy(css, plain("copy.js")))


def copied_line(name: str, value: str) -> str:
    """Return a value with its name, and with a button that copies the value."""
    shown = escape(clean(value))
    return (
        f'<div class="copied"><span class="soft">{name}</span><code>{shown}</code>'
        f'<button data-copy="{shown}" aria-label="Copy {shown}">Copy</button></div>'
    )


def avatar(person: Person) -> Answer:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" width="96" height="96">'
        f'<rect width="96" height="96" fill="hsl({hue(person.id) * 30 + 10} 42% 36%)"/>'
        '<text x="48" y="50" dominant-baseline="central" text-anchor="middle" fill="#fff" font-size="44"'
        f' font-family="system-ui, sans-serif">{escape(initial(person.name or person.login))}</text></svg>'
    )
    headers = (
        ("content-type", "image/svg+xml"),
        ("cache-control", "public, max-age=3600"),
        ("content-security-policy", "default-src 'none'"),
        ("cross-origin-resource-policy", "cross-origin"),
    )
    return Answer(200, svg.encode(), headers)


# Parts of pages


def page(provider: Dialect, content: str | bytes, *, title: str = "", status: int = 200, code: str = "") -> Answer:
    """Return a page of a provider with its logo and name. The default title is the name. `code` is a script."""
    css, label = style(provider.accent), escape(provider.label)
    before, after = frame(provider.name, label, css, title or label, code)
    middle = content if isinstance(content, bytes) else content.encode()
    return html(b"".join((before, middle, after)), policy(css, code), status)


@lru_cache(maxsize=256)
def frame(name: str, label: str, css: str, title: str, code: str) -> tuple[bytes, bytes]:
    """Return the HTML before and after the content of a provider's page. `label` and `title` are HTML."""
    whole = template("frame.html").substitute(
        mark=mark(name, label),
        label=label,
        style=css,
        title=title,
        content=GAP,
        script=f"<script>{code}</script>\n" if code else "",
    )
    before, _, after = whole.encode().partition(GAP.encode())
    return before, after


def html(body: bytes, content_security_policy: str, status: int = 200, referrer: str = "no-referrer") -> Answer:
    """Return an HTML response that must not be cached. `content_security_policy` must forbid embedding."""
    headers = (
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("content-security-policy", content_security_policy),
        ("referrer-policy", referrer),
        ("x-content-type-options", "nosniff"),
    )
    return Answer(status, body, headers)


@cache
def policy(css: str, script: str = "") -> str:
    """Return a Content-Security-Policy that allows only this script, and requests only to the same origin.

    The policy has no `form-action`. Browsers would apply `form-action` to the redirects after the form too, and the
    client decides where to redirect after its callback.
    """
    scripted = f"; script-src '{digest(script)}'; connect-src 'self'" if script else ""
    return f"default-src 'none'; style-src '{digest(css)}'{scripted}; base-uri 'none'; frame-ancestors 'none'"


def digest(inline: str) -> str:
    """Return the CSP source expression for an inline script or style."""
    return f"sha256-{b64encode(sha256(inline.encode()).digest()).decode()}"


def mark(name: str, label: str) -> str:
    """Return the logo of a provider, or the initial of a provider without a logo."""
    shapes = LOGOS.get(name)
    if shapes is None:
        return f'<span class="mark" aria-hidden="true">{label[0]}</span>'
    return f'<svg class="sign" viewBox="0 0 24 24" aria-hidden="true">{"".join(map(drawn, shapes))}</svg>'


def drawn(shape: Shape) -> str:
    """Return the SVG of one shape. A shape with a width is a line, and any other shape is filled."""
    if shape.width is None:
        return f'<path d="{shape.path}" fill="{shape.colour}" fill-rule="evenodd"/>'
    return f'<path d="{shape.path}" fill="none" stroke="{shape.colour}" stroke-width="{shape.width}"/>'


@cache
def style(accent: tuple[str, str]) -> str:
    return template("page.css").substitute(accent_light=accent[0], accent_dark=accent[1])


@cache
def template(name: str) -> Template:
    return Template((FOLDER / name).read_text(encoding="utf-8"))


@cache
def plain(name: str) -> str:
    """Return a file that is no template."""
    return template(name).template


def initial(name: str) -> str:
    return next((letter for letter in name if letter.isalnum()), "?").upper()


def hue(person_id: str) -> int:
    """Return the colour of a person's picture, as a number below `HUES`."""
    return int(fingerprint(person_id, 4), 16) % HUES
