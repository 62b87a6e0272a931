"""The page that the browser shows on the integrator's origin: the integrator's document and headers, and our widget."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from chatkey_check.exchange import Exchange, Header, Response
from chatkey_check.model import Service
from chatkey_check.target import Target

EMPTY_PATH: Final = "/chatkey-check"
EMPTY: Final = b"<!doctype html><html><head><meta charset=utf-8><title>chatkey check</title></head><body></body></html>"
PATIENCE_MS: Final = 1000
"""Milliseconds after the load of a page in which its scripts may still configure the widget."""
POLICY: Final = "content-security-policy"
OF_THE_WIRE: Final = frozenset({"content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive"})
META: Final = re.compile(
    rb"(?P<head><meta[^>]*http-equiv\s*=\s*[\"']?content-security-policy[\"']?[^>]*content\s*=\s*)"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')",
    re.IGNORECASE,
)
END_OF_HEAD: Final = re.compile(rb"</head\s*>", re.IGNORECASE)
NONCE: Final = re.compile(r"'nonce-([^']+)'")
HOSTLESS: Final = frozenset({"data:", "blob:", "filesystem:", "mediastream:"})
"""Content-Security-Policy sources that are not addresses."""


@dataclass(frozen=True, slots=True)
class Document:
    """The document that the browser gets at the page's address."""

    status: int
    headers: tuple[Header, ...]
    body: bytes

    @property
    def header_map(self) -> dict[str, str]:
        """The headers in Playwright's format.

        Each name has one value, and Set-Cookie lines are joined with newlines.
        """
        joined: dict[str, list[str]] = {}
        for name, value in self.headers:
            joined.setdefault(name.lower(), []).append(value)
        return {name: ("\n" if name == "set-cookie" else ", ").join(values) for name, values in joined.items()}


def document(fetched: Exchange | None, service: Service, set_cookies: Iterable[str]) -> Document:
    """Return the fetched page, or an empty page, with the widget's script added.

    `set_cookies` are the Set-Cookie lines of the login, to which the browser applies its usual rules. If the reference
    server stands in for the service, its address replaces the service's address in a Content-Security-Policy.
    """
    answer = fetched.response if fetched else None
    page = answer or Response(200, (("Content-Type", "text/html; charset=utf-8"),), EMPTY)
    kept = [header for header in page.headers if header[0].lower() not in OF_THE_WIRE]
    body = page.body
    if service.own:
        kept = [(name, with_service(value, service.url) if name.lower() == POLICY else value) for name, value in kept]
        body = META.sub(lambda found: _meta(found, service.url), body)
    policies = [value for name, value in kept if name.lower() == POLICY]
    policies += [html.unescape(found[0].decode("utf-8", "replace")) for found in META.finditer(body)]
    nonce = _nonce(" ".join(policies))
    cookies = [("Set-Cookie", line) for line in set_cookies]
    return Document(page.status, (*kept, *cookies), _with_script(body, service, nonce))


def with_service(policies: str, url: str) -> str:
    """Return a Content-Security-Policy in which every directive with a list of addresses also contains the service."""
    return ", ".join("; ".join(_directives(policy, url)) for policy in policies.split(","))


def _directives(policy: str, url: str) -> Iterable[str]:
    for directive in filter(None, (part.strip() for part in policy.split(";"))):
        name, *sources = directive.split()
        if name.lower() == "upgrade-insecure-requests":
            continue  # the reference server has no certificate
        if name.lower().endswith(("-src", "-src-elem")) and any(map(_is_address, sources)):
            sources += [url, url.replace("http", "ws", 1)]
        yield " ".join([name, *sources])


def _is_address(source: str) -> bool:
    return not source.startswith("'") and source.lower() not in HOSTLESS


def _meta(found: re.Match[bytes], url: str) -> bytes:
    policy = html.unescape((found["double"] or found["single"] or b"").decode("utf-8", "replace"))
    escaped = html.escape(with_service(policy, url), quote=False).replace('"', "&quot;")
    return found["head"] + f'"{escaped}"'.encode()


def _nonce(policies: str) -> str | None:
    found = NONCE.search(policies)
    return found[1] if found else None


def _with_script(body: bytes, service: Service, nonce: str | None) -> bytes:
    """Add the script at the end of the head. A policy in a meta element of the page then applies to the script too."""
    secret = f' nonce="{html.escape(nonce)}"' if nonce else ""
    script = f'<script async src="{html.escape(service.sdk_url)}"{secret}></script>'.encode()
    found = END_OF_HEAD.search(body)
    at = found.start() if found else len(body)
    return body[:at] + script + body[at:]


CONFIGURE: Final = """(() => {
  const given = GIVEN;
  if (window !== window.top || location.origin !== given.origin) return;
  const told = [], blocked = [], page = { provider: null, getToken: "", calls: 0 };
  Object.defineProperty(window, "chatkeyCheck", { value: { told, blocked, page } });
  document.addEventListener("securitypolicyviolation", ({ blockedURI, effectiveDirective, disposition }) => {
    const concerns = ["wasm-eval", ...given.needed].some((needed) => blockedURI.startsWith(needed));
    if (concerns && disposition === "enforce") blocked.push({ what: blockedURI, directive: effectiveDirective });
  });
  const getToken = async ({ jkt, signal }) => {
    const { method, body, query, type, tokenAt } = given.shape;
    const fill = (text) => text.replaceAll("{jkt}", jkt);
    const address = query ? given.url + (given.url.includes("?") ? "&" : "?") + fill(query) : given.url;
    const answer = await fetch(address, {
      method,
      credentials: "include",
      headers: { ...given.headers, ...(body ? { "Content-Type": type } : {}) },
      body: body ? fill(body) : undefined,
      signal,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`the endpoint answered ${answer.status}`);
    if (tokenAt.length) return tokenAt.reduce((value, name) => value?.[name], JSON.parse(text)) ?? null;
    const bare = text.trim();
    return (bare.startsWith('"') ? JSON.parse(bare) : bare === "null" ? "" : bare) || null;
  };
  let started = false;
  const ofPage = (config) => {
    if (started) return config;
    started = true;
    page.provider = String(config?.providerId);
    page.getToken = typeof config?.getToken;
    const counted = page.getToken === "function" && function (...values) {
      page.calls += 1;
      return config.getToken.apply(this, values);
    };
    return { ...config, providerId: given.providerId, ...(counted ? { getToken: counted } : {}) };
  };
  const globally = (about) => Object.defineProperty(window, "ServiceConfig", { ...about, configurable: true });
  globally({ set: (config) => globally({ value: ofPage(config), writable: true }) });
  let start;
  Object.defineProperty(window, "initService", {
    configurable: true,
    get: () => start && ((config) => start(ofPage(config))),
    set(real) {
      start = real;
      queueMicrotask(() => { // the widget's script has run
        window.Service.on("*", (detail, name) => told.push({ name, detail }));
        const { set } = Object.getOwnPropertyDescriptor(window, "ServiceConfig");
        if (set) globally({ set: (config) => set(ofPage(config)) });
      });
    },
  });
  // A page that configures no widget gets one with a getToken like that of an integrator.
  const alone = () => started || (started = true, window.ServiceConfig = { providerId: given.providerId, getToken });
  addEventListener("load", () => setTimeout(alone, given.patience));
})();"""
"""Runs before the page's own scripts. Lets the page configure the widget for our service, counts the calls of the
page's getToken, and records the widget's events and what a policy blocked."""


def configuration(service: Service, *, target: Target, provider_id: str, headers: Iterable[Header]) -> str:
    """Return the script with which the widget on a page uses this service, and the configuration of the page.

    If the page has no configuration, the script adds one, with a `getToken` like that of an integrator.
    """
    given = {
        "origin": target.page,
        "url": target.url,
        "shape": target.shape.browser(),
        "providerId": provider_id,
        "headers": dict(headers),
        "needed": [service.url, service.socket_uri, service.sdk_url, target.url],
        "patience": PATIENCE_MS if target.page_url else 0,
    }
    return CONFIGURE.replace("GIVEN", json.dumps(given), 1)
