"""Explains why a visit failed: a policy, a cookie, a service worker, or an error that the widget reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from chatkey_check.exchange import origin
from chatkey_check.model import Finding, Service
from chatkey_check.target import Target

if TYPE_CHECKING:
    from chatkey_check.live.browser.visit import Visit

WORKER: Final = "Exclude the endpoint and the widget's files from the service worker."
POLICY_DOC: Final = "docs/csp.md has the strictest policy that works."


def trouble(visit: Visit, wanted: str) -> Finding:
    """Return the failure of a step that did not end as `wanted` says, together with the cause of the failure."""
    message, hint = _cause(visit)
    return visit.failed(f"{wanted} {message}", hint)


def _cause(visit: Visit) -> tuple[str, str]:
    """Return the message and the hint about what happened."""
    state = visit.state
    message, hint = _blocked(visit, state) or configured(visit) or _by_worker(visit) or _told(visit) or _silence(visit)
    return message, f"{hint} {WORKER}" if state["worker"] and hint != WORKER else hint


def configured(visit: Visit) -> tuple[str, str] | None:
    """Return a message and a hint if the page's configuration has another provider than the tokens, or no getToken."""
    page, ours = visit.state["page"], visit.calls.provider_id
    if page["provider"] not in {None, ours}:
        return f"The page configures the provider {page['provider']}, not {ours}.", f'Set providerId: "{ours}".'
    if page["provider"] is not None and page["getToken"] != "function":
        return "The page configures no getToken.", "Add getToken to ServiceConfig. Without it, everybody is a visitor."
    return None


def _blocked(visit: Visit, state: Mapping[str, Any]) -> tuple[str, str] | None:
    if not state["blocked"]:
        return None
    what, directive = state["blocked"][0]["what"], state["blocked"][0]["directive"].removesuffix("-elem")
    message = f"The Content-Security-Policy of the page blocks {_named(what)} ({directive})."
    return (
        message,
        f"Add {_source(visit.calls.target, what)} to its {directive}.{_stand_in(visit.service, what)} {POLICY_DOC}",
    )


def _named(what: str) -> str:
    return "WebAssembly" if what == "wasm-eval" else what


def _source(target: Target, what: str) -> str:
    if what == "wasm-eval":
        return "'wasm-unsafe-eval'"
    if what.startswith(target.origin):
        return "'self'"
    parts = urlsplit(what)
    return f"{parts.scheme}://{parts.netloc}" + ("/assets/" if parts.path.startswith("/assets/") else "")


def _stand_in(service: Service, what: str) -> str:
    if not service.own or urlsplit(service.url).netloc not in what:
        return ""
    return " Use your own service's address instead: this is the address of the test server."


def _by_worker(visit: Visit) -> tuple[str, str] | None:
    if not visit.by_worker:
        return None
    return "A service worker of the page answered instead of the endpoint.", WORKER


def _told(visit: Visit) -> tuple[str, str] | None:
    for event in visit.events:
        if event["name"] == "error":
            detail = event["detail"]
            said = f"The widget reports {detail['code']}: {detail['message']}"
            return said, _led_away(visit) or detail["remediation"]
        if event["name"] == "token:none":
            return _nobody(visit)
    return None


def _led_away(visit: Visit) -> str:
    """Return a hint if the call was redirected to another origin.

    The widget cannot notice this. Otherwise return "".
    """
    ours = visit.calls.target.origin
    led_to = origin(visit.led_to) if visit.token_calls else ours
    if led_to == ours:
        return ""
    return f"Answer the call on the page's origin: it was redirected to {led_to}, where browsers may not read it."


def _nobody(visit: Visit) -> tuple[str, str]:
    """Explain a null. The session has only cookies that a browser sends, so attributes of cookies are not the cause."""
    page = visit.state["page"]
    if page["calls"] and not visit.token_calls:
        return (
            "The page's getToken returned null without a call of the endpoint.",
            "Let getToken fetch the endpoint with method, address and body of this check (--body, --method, --query).",
        )
    if page["calls"] and visit.cookies and "cookie" not in dict(visit.exchanges[-1].request.headers):
        return (
            "The page's getToken calls the endpoint without cookies, and gets null.",
            'Call fetch with credentials: "same-origin" or "include".',
        )
    unsent = sorted(visit.calls.member.cookies.keys() - visit.cookies.keys())
    if unsent:
        return (
            f"The endpoint answers null: the browser does not send the cookie {unsent[0]}.",
            "Look at the cookie's attributes in the browser's developer tools.",
        )
    return (
        "The endpoint answers null to the browser, although the browser sends the same cookies as this program.",
        "The endpoint depends on something that differs between browsers and other programs, such as User-Agent.",
    )


def _silence(visit: Visit) -> tuple[str, str]:
    identity = visit.state["identity"]
    who = f"The widget is a {identity['identity']}." if identity else "The widget did not start."
    said = f" The browser says: {visit.complaints[0]}." if visit.complaints else ""
    return (
        f"{who}{said}",
        "Look at the trace, which shows what the page did step by step: `python -m playwright show-trace`.",
    )
