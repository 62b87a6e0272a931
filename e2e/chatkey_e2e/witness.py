"""Watches browser contexts and servers, and finds secrets in places where secrets must not be."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

from chatkey_e2e import kept
from chatkey_e2e.closing import unless_closing
from chatkey_e2e.private_keys import places_of_keys
from chatkey_e2e.sockets import Sent, Socket, watch_sockets
from chatkey_peer.key import thumbprint
from chatkey_protocol.frames import Kind
from chatkey_protocol.storage_keys import MEMBER_TOKEN_PREFIX
from chatkey_stack.stack import Stack

NOTHING: dict[str, dict[str, str]] = {"localStorage": {}, "elsewhere": {}}
PAGE_CONTENTS = """() => {
  const trees = [document];
  for (let i = 0; i < trees.length; i += 1)
    for (const element of trees[i].querySelectorAll("*")) if (element.shadowRoot) trees.push(element.shadowRoot);
  const kept = (name) => {
    try {
      return { ...window[name] };
    } catch {
      return {}; // denied to scripts, so there is nothing a script could find
    }
  };
  return {
    localStorage: kept("localStorage"),
    elsewhere: {
      sessionStorage: JSON.stringify(kept("sessionStorage")),
      cookie: document.cookie,
      text: trees.map((tree) => (tree.documentElement ?? tree).textContent).join("\\n"),
      attributes: trees.flatMap((tree) => [...tree.querySelectorAll("*")])
        .flatMap((element) => [...element.attributes].map((attribute) => attribute.value)).join("\\n"),
      url: location.href,
      name: window.name,
    },
  };
}"""


EXCHANGE = "the query of the member token endpoint"
CACHE = "the cached member token"

PRIVATE_KEY = "the private key of the connection"

LEAKED = "a secret leaked:\n"
"""The beginning of the failure of a test in which a secret was found in a wrong place."""


@dataclass  # without slots: Playwright stores its wrappers on the owner of a listener
class Witness:
    """Records the requests, socket traffic and console output of the watched contexts."""

    stack: Stack
    secrets: set[str] = field(default_factory=set[str], repr=False)
    requests: list[Request] = field(default_factory=list[Request])
    sockets: list[Socket] = field(default_factory=list[Socket])
    sent: list[Sent] = field(default_factory=list[Sent])
    accepted: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The `ready` frames: one for each connection that the service accepted."""
    refusal: dict[str, Any] | None = None
    """The latest `error` frame about a proof, unless the service has accepted a connection since."""
    acknowledged: list[str] = field(default_factory=list[str])
    """The ids of the messages that the service has acknowledged."""
    said: list[str] = field(default_factory=list[str])
    messages: list[str] = field(default_factory=list[str])
    """The data of the messages between windows."""
    judges_widget: bool = False
    """Whether databases and caches are searched too, and everything for private keys."""
    contexts: list[BrowserContext] = field(default_factory=list[BrowserContext])
    settings: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The arguments with which the watched contexts were opened, as far as they are known."""
    _marks: dict[str, int] = field(default_factory=dict[str, int])

    def __post_init__(self) -> None:
        self._marks = {server.process.name: server.process.mark for server in self.stack.servers}

    def watch(self, context: BrowserContext) -> None:
        """Record what the context's pages do from now on."""
        self.contexts.append(context)
        context.on("request", self._note_request)
        context.on("console", self._note_console)
        watch_sockets(context, self.sockets.append, self.sent.append, self._note_heard, self.messages.append)

    def _note_request(self, request: Request) -> None:
        self.requests.append(request)

    def _note_heard(self, text: str) -> None:
        frame = json.loads(text)
        if frame.get("type") == Kind.READY:
            self.accepted.append(frame)
            self.refusal = None
        elif frame.get("type") == Kind.ERROR and str(frame.get("code")).startswith("proof_") and "id" not in frame:
            self.refusal = frame
        elif frame.get("type") == Kind.ACK:
            self.acknowledged.append(frame["id"])

    def _note_console(self, message: ConsoleMessage) -> None:
        self.said.append(message.text)

    def frames(self, kind: Kind) -> list[dict[str, Any]]:
        """Return the sent frames of one kind, oldest first."""
        return [sent.frame for sent in self.sent if sent.frame.get("type") == kind]

    def asked(self, path: str) -> list[Request]:
        """Return the requests whose path is `path`, oldest first."""
        return [request for request in self.requests if urlsplit(request.url).path == path]

    @property
    def socket_tokens(self) -> list[str]:
        """Every token that opened or refreshed a socket."""
        return [sent.frame["token"] for sent in self.sent if "token" in sent.frame]

    @property
    def identity_tokens(self) -> list[str]:
        """Every identity token that was exchanged at the member token endpoint."""
        exchanges = (request for request in self.requests if urlsplit(request.url).path.endswith("/member/token"))
        queries = (parse_qs(urlsplit(request.url).query) for request in exchanges)
        return [query["auth"][0] for query in queries if "auth" in query]

    @property
    def hidden(self) -> set[str]:
        """Every secret and token that no report may show."""
        return {*self.secrets, *self.socket_tokens, *self.identity_tokens}

    @property
    def pages(self) -> list[Page]:
        """The open pages of the watched contexts."""
        return [page for context in self.contexts for page in context.pages if not page.is_closed()]

    def output(self) -> dict[str, str]:
        """Return each server's output since this witness was created."""
        return {s.process.name: s.process.output(self._marks[s.process.name]) for s in self.stack.servers}

    def leaks(self, contexts: Iterable[BrowserContext]) -> list[str]:
        """Return one sentence for each secret or token in a place where contract 2.6 and 2.8 do not allow it."""
        pages = [page for context in contexts for page in context.pages if not page.is_closed()]
        places = [
            *((f"{name}'s output", text) for name, text in self.output().items()),
            *(("the console", text) for text in self.said),
            *self._addresses(),
            *(place for page in pages if page.url.startswith("http") for place in _contents(page)),
            *(
                place
                for page in pages
                if page.url.startswith("http") and self.judges_widget
                for place in kept.texts(page)
            ),
        ]
        found = [
            f"{_describe(secret)} in {place}"
            for place, text in places
            for secret in self.hidden
            if secret in text and not self._belongs(secret, place)
        ]
        return [*found, *self._leaked_keys(places)] if self.judges_widget else found

    def _leaked_keys(self, places: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield a sentence for each place with a private key. Tokens are left out: signatures are as long as keys."""
        proofs = [str(frame.get("proof")) for frame in self.frames(Kind.CONNECT)]
        signed = re.compile("|".join(map(re.escape, [*self.hidden, *proofs])) or "(?!)")
        texts = ((place, signed.sub(" ", text)) for place, text in chain(places, self._traffic()))
        public = [header.get("jwk", {}) for header in map(header_of, proofs)]
        thumbprints = {thumbprint(jwk) for jwk in public if {"x", "y"} <= jwk.keys()}
        yield from (f"{PRIVATE_KEY} in {place}" for place in places_of_keys(texts, thumbprints))

    def _traffic(self) -> Iterator[tuple[str, str]]:
        """Yield what the pages sent, where a token may be and a private key may not."""
        for request in self.requests:
            address = request.url.partition("?")[0]
            yield f"the request of {address}", (request.post_data_buffer or b"").decode("latin-1")
            yield f"the request of {address}", " ".join(request.headers.values())
        yield from (("a frame", sent.text) for sent in self.sent)
        yield from (("a message between windows", text) for text in self.messages)

    def _belongs(self, secret: str, place: str) -> bool:
        """Return whether the contract allows this secret in this place.

        Contract 4.3 puts the identity token into one query. Contract 2.8 and D-06 put member tokens into one storage
        key.
        """
        if place == EXCHANGE:
            return secret in self.identity_tokens
        return place == CACHE and may_be_cached(secret)

    def _addresses(self) -> Iterator[tuple[str, str]]:
        for request in self.requests:
            address = request.url.partition("?")[0]
            yield EXCHANGE if address.endswith("/member/token") else f"the address {address}", request.url
            yield f"the referrer sent to {address}", request.headers.get("referer", "")
        for socket in self.sockets:
            yield f"the address {socket.url.partition('?')[0]}", socket.url


def may_be_cached(token: str) -> bool:
    """Return whether contract 2.8 and D-06 allow this token in localStorage."""
    claims = claims_of(token)
    is_custom = claims.get("type") == "user" and "auth_provider" not in claims.get("data", {})
    return is_custom or claims.get("type") == "identity"


witness_key: Final = pytest.StashKey[Witness]()


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a token without verification, or no claims if the text is not a token."""
    try:
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
    except jwt.DecodeError:
        return {}
    return claims


def header_of(proof: str) -> dict[str, Any]:
    """Return the header of a proof, or no members if the text is not a JWS."""
    try:
        return dict(jwt.get_unverified_header(proof))
    except jwt.InvalidTokenError:
        return {}


def _describe(secret: str) -> str:
    claims = claims_of(secret)
    return f"a token of type {claims.get('type')!r}" if claims else "a secret of the business"


def _contents(page: Page) -> Iterator[tuple[str, str]]:
    """Yield everything that a script of the page could read, each with its place."""
    contents = unless_closing(page, lambda: page.evaluate(PAGE_CONTENTS), NOTHING)
    for key, value in contents["localStorage"].items():
        yield CACHE if key.startswith(MEMBER_TOKEN_PREFIX) else f"localStorage[{key!r}]", value
    for place, text in contents["elsewhere"].items():
        yield f"{place} of {page.url.partition('?')[0].partition('#')[0]}", text
