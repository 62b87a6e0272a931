"""Shows a call to a person: a curl line that repeats it, and the beginning of the answer."""

from __future__ import annotations

from typing import Final

from chatkey_check.evidence import shell
from chatkey_check.evidence.masks import Masks
from chatkey_check.exchange import Exchange, Request, header_lines
from chatkey_check.model import Evidence
from chatkey_check.target import Target

BODY_SHOWN: Final = 600


def evidence(exchange: Exchange, target: Target, masks: Masks) -> Evidence:
    """Return what a report may show of a call."""
    return Evidence(
        exchange.request.label,
        curl(exchange.request, target, masks, http2=exchange.http2),
        response(exchange, masks),
        exchange.seconds,
    )


def curl(request: Request, target: Target, masks: Masks, *, http2: bool = False) -> str:
    """Return a curl command that sends the same request. The command reads secrets from environment variables."""
    words = ["curl", "-i"]
    if http2:  # curl asks for HTTP/2 in the TLS handshake; without TLS, it has to know beforehand
        words += ["--http2" if request.url.startswith("https:") else "--http2-prior-knowledge"]
    words += ["-k"] if target.insecure_tls else []
    words += ["--cacert", shell.word(str(target.ca))] if target.ca else []
    for host, address in target.connect_to.items():
        words += ["--connect-to", shell.word(f"{host}::{address}:")]
    words += [] if request.method == "POST" and request.body else ["-X", request.method]
    words += [shell.word(masks.masked(request.url)), "--compressed"]
    for given in request.headers:
        words += ["-H", shell.header(*masks.header(given))]
    words += _without_a_type(request)
    words += ["--data-binary", shell.data(masks.hidden(request.body))] if request.body else []
    return " ".join(words)


def _without_a_type(request: Request) -> list[str]:
    """Return the words that keep curl from adding a Content-Type to a request whose body has none."""
    typed = any(name.lower() == "content-type" for name, _ in request.headers)
    return [] if typed or not request.body else ["-H", "Content-Type:"]


def response(exchange: Exchange, masks: Masks) -> str:
    """Return the status, the headers and the beginning of the body, or the reason why there is no response."""
    answer = exchange.response
    if answer is None:
        return f"{exchange.broken or 'nothing'} ({exchange.seconds:.1f} s)"
    lines = [f"HTTP {answer.status}"]
    if exchange.hops:
        lines.append(f"(after a redirect to {masks.masked(', '.join(exchange.hops))})")
    head = "\n".join([*lines, header_lines(masks.header(header) for header in answer.headers)]).rstrip()
    body = masks.masked(_cut(exchange.text, BODY_SHOWN))
    return f"{head}\n\n{body}".rstrip()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
