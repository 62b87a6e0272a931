"""page.no-secret: neither the page nor its scripts contain the secret."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import urljoin

from chatkey_check.calls.shared import Calls
from chatkey_check.evidence.leaks import SHORTEST, leaked, unescaped, whole
from chatkey_check.exchange import Exchange, origin
from chatkey_check.judging.check import check
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import LEAKS, Finding, Severity, Skipped, Where
from chatkey_check.run import Run
from chatkey_check.words import plural

MOST_SCRIPTS = 100
PAGE = "the page with the widget"
SCRIPT = "a script of the page"
LOADED = re.compile(
    r"""\b(?:import|from)\b\s*\(?\s*["'`]([./][^"'`]*)["'`]"""
    r"""|\bnew (?:Shared)?Worker\(\s*(?:new URL\(\s*)?["'`]([^"'`]+)["'`]"""
    r"""|\bimportScripts\(\s*["'`]([^"'`]+)["'`]"""
    r"""|\bfetch\(\s*["'`]([^"'`]*(?:\.json|config|settings|\benv)[^"'`]*)["'`]\s*\)"""
    r"""|[#@] ?sourceMappingURL=(?!data:)(\S+)"""
)
"""Addresses that a script loads: relative imports, workers, configurations and its source map."""
MAPPED = re.compile(r""":\s*"([./][^"]*|https?:[^"]*)\"""")
"""Addresses in an import map."""


@check(
    "page.no-secret",
    group=LEAKS,
    severity=Severity.MUST,
    section="5.3",
    sent="GET --page-url, logged in, and its scripts of the same origin, with what these import, their workers, "
    f"configurations and source maps, at most {MOST_SCRIPTS} files",
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
        form = leaked(secret, whole(file)) or leaked(secret, unescaped(file.text))
        if form:
            return failed(f"{file.request.url} contains the secret {form}.", file, where=_place(secret, file))
    if len(seen) > MOST_SCRIPTS:
        raise Skipped(f"the page has more than {MOST_SCRIPTS} scripts, and the first {MOST_SCRIPTS} have no secret")
    return passed(f"in {plural(len(seen), 'file')}")


def _place(secret: str, file: Exchange) -> Where:
    """Return the address of the file, and the first line that contains the secret."""
    lines = enumerate(file.text.splitlines(), 1)
    line = next((number for number, text in lines if leaked(secret, text) or leaked(secret, unescaped(text))), None)
    return Where(file=file.request.url, line=line)


def _files(calls: Calls, address: str) -> Iterator[Exchange]:
    """Yield the page, its scripts, and the files that they load, at most `MOST_SCRIPTS` of them."""
    session = calls.anybody
    page = calls.fetch(PAGE, address, session)
    yield page
    scripts = Scripts()
    scripts.feed(page.text)
    waiting = [urljoin(address, source) for source in scripts.sources]
    seen = {address}
    while waiting and len(seen) <= MOST_SCRIPTS:
        url = waiting.pop(0).partition("#")[0]
        if url in seen or origin(url) != origin(address):
            continue
        seen.add(url)
        file = calls.fetch(SCRIPT, url, session)
        yield file
        if file.succeeded and "html" not in ((file.response.get("content-type") if file.response else None) or ""):
            waiting += [urljoin(url, source) for source in _loaded(file.text)]


def _loaded(script: str) -> list[str]:
    """Return the addresses that a script imports, runs as a worker, or names as its source map."""
    return [next(filter(None, found.groups())) for found in LOADED.finditer(script)]


class Scripts(HTMLParser):
    """Collects the addresses of a page's scripts, and the addresses that its inline modules import."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: list[str] = []
        self._map = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "script" and given.get("src"):
            self.sources.append(given["src"])
        if tag == "link" and given.get("href") and {"modulepreload", "preload"} & set(given.get("rel", "").split()):
            self.sources += [given["href"]] if given.get("as", "script") == "script" else []
        self._map = tag == "script" and given.get("type") == "importmap"

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.sources += MAPPED.findall(data) if self._map else _loaded(data)
