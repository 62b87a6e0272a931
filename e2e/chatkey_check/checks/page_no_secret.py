"""page.no-secret: neither the page nor its scripts contain the secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin

from chatkey_check.calls.shared import Calls
from chatkey_check.evidence.leaks import SHORTEST, leaked, whole
from chatkey_check.exchange import Exchange, origin
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import LEAKS, Finding, Severity, Skipped
from chatkey_check.run import Run
from chatkey_check.words import plural

MOST_SCRIPTS = 30
PAGE = "the page with the widget"
SCRIPT = "a script of the page"
IMPORTED = re.compile(r"""\bimport\b[^"'`;()]*\(?\s*["'`]([./][^"'`]*)["'`]""")
"""Relative addresses that a JavaScript module imports. A bare package name does not match."""


@check(
    "page.no-secret",
    group=LEAKS,
    severity=Severity.MUST,
    section="5.3",
    sent="GET --page-url, logged in, and its scripts of the same origin",
    passes="none of them contains the secret",
    hint="secret_key must never reach a browser. Rotate secret_key now, and sign tokens on the server.",
    mistakes=(
        "the build copies every environment variable into the script",
        "the page signs the token in the browser",
    ),
    needs=("net.latency",),
)
def page_no_secret(run: Run) -> Finding:
    """Everybody can read everything that a script of your page can read."""
    calls = run.calls
    address, secret = calls.target.page_url, calls.target.secret
    if address is None:
        raise Skipped("the address of a page with the widget is needed", "--page-url URL")
    if secret is None:
        raise Skipped("secret_key is needed", "--secret-env NAME")
    if len(secret) < SHORTEST:
        raise Skipped(f"the secret has fewer than {SHORTEST} characters, so it could occur in a page by chance")
    seen = list(_files(calls, address))
    if not seen[0].succeeded:
        how = seen[0].result
        return failed(f"{address} could not be loaded: {how}.", seen[0], hint="Check --page-url.")
    for file in seen:
        form = leaked(secret, whole(file))
        if form:
            return failed(f"{file.request.url} contains the secret {form}.", file)
    return passed(f"in {plural(len(seen), 'file')}")


def _files(calls: Calls, address: str) -> Iterator[Exchange]:
    session = calls.anybody
    page = calls.fetch(PAGE, address, session)
    yield page
    scripts = Scripts()
    scripts.feed(page.text)
    own = (urljoin(address, source) for source in scripts.sources)
    for source in [url for url in own if origin(url) == origin(address)][:MOST_SCRIPTS]:
        yield calls.fetch(SCRIPT, source, session)


class Scripts(HTMLParser):
    """Collects the addresses of a page's scripts, and the addresses that its inline modules import."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        source = dict(attrs).get("src")
        if tag == "script" and source:
            self.sources.append(source)

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.sources += IMPORTED.findall(data)
