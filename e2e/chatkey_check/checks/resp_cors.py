"""resp.cors: pages of other sites cannot read the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from chatkey_check.calls.shared import ABROAD, FOREIGN, Calls
from chatkey_check.exchange import Exchange
from chatkey_check.judging.alternating import alternating
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed, warned
from chatkey_check.model import LEAKS, Finding, Severity, Verdict
from chatkey_check.run import Run

AGAIN = 3
ANY = "*"
LOOPBACK = ("http://localhost:6123", "http://127.0.0.1:6123")
"""Origins on this computer that no real configuration names, because no development server uses this port."""


@check(
    "resp.cors",
    group=LEAKS,
    severity=Severity.MUST,
    section="4.7",
    sent=f"the call with the Origin {FOREIGN}, names similar to the page's, null and {LOOPBACK[0]}; and a preflight",
    passes="no Access-Control-Allow-Origin for these origins",
    hint="Remove CORS from this route, because page and endpoint have the same origin.",
    mistakes=(
        "CORS is enabled for the whole site with *",
        "the request's Origin is copied into the answer",
        "only the beginning or the end of an origin is compared, or the dots in a pattern are not escaped",
        "the origin is compared without its scheme",
        "a pattern for development servers allows every port of localhost in production",
    ),
    needs=("net.latency",),
)
def cors(run: Run) -> Finding:
    """If a page of another site can read the answer, the other site gets your visitor's token."""
    calls = run.calls
    for asked, answer in _questions(calls):
        if _judged(asked, answer).verdict is not Verdict.PASS:
            anyone = alternating(calls.repeated(calls.cross_site), partial(_judged, FOREIGN))
            return anyone or alternating(calls.repeated(answer), partial(_judged, asked)) or passed()
    normal = calls.answers_to(calls.member) if calls.target.login and calls.first.minted else []
    return alternating(normal, partial(_judged, ANY)) or passed()


def _judged(asked: str, answer: Exchange) -> Finding:
    """Judge whether an answer may be read by pages of the origin that asked."""
    allowed = ((answer.response.get("access-control-allow-origin") if answer.response else None) or "").strip()
    if allowed not in {asked, ANY} or answer.response is None:
        return passed()
    cookies = ", with cookies" if answer.response.get("access-control-allow-credentials") == "true" else ""
    if asked in LOOPBACK:
        hint = "Allow only the origin of your development server, and only in development."
        what = f"Pages of any server on the visitor's computer may read the answer{cookies}: {asked} is allowed."
        return warned(what, answer, hint=hint)
    who = "any site" if asked == ANY else asked
    what = f"A page of {who} may read the answer{cookies}: Access-Control-Allow-Origin is {allowed}."
    return failed(what, answer)


def _lookalikes(page: str) -> Iterator[str]:
    """Yield origins that a pattern without anchors would mistake for the page's origin."""
    scheme, _, host = page.partition("://")
    if host.startswith("["):
        return
    name, colon, port = host.partition(":")
    yield f"{scheme}://{name}.evil.example{colon}{port}"
    yield f"{scheme}://evil-{name}{colon}{port}"
    yield f"{scheme}://{name.replace('.', 'x')}{colon}{port}"
    if scheme == "https":
        yield f"http://{host}"


def _questions(calls: Calls) -> Iterator[tuple[str, Exchange]]:
    session = calls.anybody
    preflight = (
        ("Origin", FOREIGN),
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "content-type"),
        ("Sec-Fetch-Site", "cross-site"),
    )
    asks: list[tuple[str, Callable[[], Exchange]]] = [(FOREIGN, lambda: calls.cross_site)]
    again = partial(calls.ask, "the call of a page of another site, again", session, headers=ABROAD)
    asks += [(FOREIGN, again)] * AGAIN  # only one of several workers may allow other origins
    for name, label in [
        *((lookalike, "the call of a page with a similar host name") for lookalike in _lookalikes(calls.target.page)),
        ("null", "the call of a page without an origin"),
        *((local, "the call of a page of another server on this machine") for local in LOOPBACK),
    ]:
        asks.append((name, partial(calls.ask, label, session, headers=[("Origin", name)])))
    ask = partial(calls.ask, "a preflight of another site", calls.nobody, method="OPTIONS", headers=preflight)
    asks.append((FOREIGN, ask))
    yield from zip((name for name, _ in asks), calls.ask_each(ask for _, ask in asks), strict=False)
