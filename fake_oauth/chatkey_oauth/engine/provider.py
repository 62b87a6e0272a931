"""An imitated provider: a dialect together with the endpoints."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from chatkey_oauth.engine import authorize, cors, pages, token
from chatkey_oauth.engine.dialect import Dialect
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, json_answer, text_answer
from chatkey_oauth.engine.refusals import BearerRefused, Refusal, SentBack, ShownToPerson, TokenRefused
from chatkey_oauth.engine.requests import Callback
from chatkey_oauth.engine.routing import Route, Routes

if TYPE_CHECKING:
    from typing import Self

    from chatkey_oauth.engine.call import Call, Handler
    from chatkey_oauth.engine.world import Addresses, World


class Provider(Dialect):
    """Base class of the imitated providers. Paths are relative to the provider's base address."""

    def __init__(self, world: World, addresses: Addresses) -> None:
        super().__init__(world, addresses)
        self._routes = Routes(self.endpoints())

    def at(self, addresses: Addresses, real_port: str | None = None) -> Self:
        """Return the same provider with other addresses. The two share grants and keys."""
        twin = copy(self)
        twin.addresses = addresses
        twin.real_port = real_port
        twin._routes = Routes(twin.endpoints())  # noqa: SLF001 - of its own kind
        return twin

    def owns(self, segment: str) -> bool:
        """Return whether a path of this provider begins with this segment."""
        return any(key.partition(" /")[2].partition("/")[0] == segment for key in self.endpoints())

    def endpoints(self) -> dict[str, Route]:
        """Return all endpoints by `"GET /path"` or `"GET POST /path"`.

        Some of them belong to the provider, and some exist only in the fake.
        """
        return self.routes() | {
            "POST /consent": Route(Leg.CONSENT, self.consent),
            "GET /avatars/{person}": Route(None, self.avatar),
        }

    def routes(self) -> dict[str, Route]:
        """Return the provider's endpoints by method and path. `{name}` stands for one segment."""
        raise NotImplementedError

    # Handling a request

    def route(self, call: Call) -> Route:
        """Return the endpoint for a request.

        For a CORS preflight to an endpoint that pages may call, return an endpoint that answers the preflight.
        """
        path = self.canonical(call.path)
        if cors.is_preflight(call):
            methods = [method for method, route in self._routes.at(path).items() if route.leg in self.open_to_pages]
            if methods:
                return Route(None, lambda asked: cors.preflight(asked, methods))
        return self._routes.find(call.method, path) or Route(None, self.nothing)

    def nothing(self, call: Call) -> Answer:
        """Answer a request to an unknown path."""
        return text_answer(f"Nothing exists at {self.canonical(call.path)!r}.", 404)

    def respond(self, call: Call) -> Answer:
        return self.answer(self.route(call).handler, call)

    def answer(self, handler: Handler, call: Call) -> Answer:
        """Call an endpoint. If the endpoint refuses, return the refusal in this provider's words."""
        try:
            answer = handler(call)
        except Refusal as refusal:
            answer = self.refused(call, refusal)
        by_page = "origin" in call.headers and self.route(call).leg in self.open_to_pages
        return cors.opened(answer) if by_page else answer

    def refused(self, call: Call, refusal: Refusal) -> Answer:
        """Convert a refusal into this provider's response."""
        match refusal:
            case ShownToPerson():
                return pages.error_page(self, refusal)
            case SentBack(redirect_uri=uri, params=params, mode=mode):
                return authorize.send_back(call, Callback(uri, params, mode))
            case TokenRefused():
                return self.token_refusal(call, refusal)
            case BearerRefused():
                return self.bearer_refusal(refusal)
        raise refusal

    # Endpoints that every provider has

    def authorize(self, call: Call) -> Answer:
        """The authorization endpoint: shows the consent page, or reports an invalid request."""
        return authorize.start(self, call)

    def consent(self, call: Call) -> Answer:
        return authorize.decide(self, call)

    def token(self, call: Call) -> Answer:
        """The token endpoint: exchanges a code or refresh token for an access token."""
        return token.exchange(self, call)

    def jwks(self, call: Call) -> Answer:
        """The endpoint that publishes the public signing keys as a JWK set."""
        del call
        return json_answer(self.keys.jwks(), headers=(("cache-control", "public, max-age=3600, must-revalidate"),))

    def avatar(self, call: Call) -> Answer:
        """The endpoint that serves the pictures of people by their ids."""
        person = self.world.people.get(call.path.rpartition("/")[2].removesuffix(".svg"))
        return pages.avatar(person) if person else text_answer("This avatar does not exist.", 404)
