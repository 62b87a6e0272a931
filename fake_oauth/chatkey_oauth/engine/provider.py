"""The outline of an imitated provider: what differs is an attribute or a method, what is common is done here."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from secrets import token_bytes
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import urlsplit

from chatkey_oauth.engine import authorize, pages, token
from chatkey_oauth.engine.grants import Grant, Grants, Issued
from chatkey_oauth.engine.http import NO_STORE, Answer, Call, Handler, json_answer, text_answer
from chatkey_oauth.engine.people import Person
from chatkey_oauth.engine.refusals import (
    BearerRefused,
    Problem,
    Reason,
    Refusal,
    SentBack,
    ShownToPerson,
    TokenRefused,
    Words,
)
from chatkey_oauth.engine.routing import Routes
from chatkey_oauth.engine.signing import KeyRing, half_hash, make_key, seal
from chatkey_oauth.engine.text import digits, same

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from chatkey_oauth.engine.approval import Approval
    from chatkey_oauth.engine.authorize import AuthorizationRequest
    from chatkey_oauth.engine.clients import Client, Clients
    from chatkey_oauth.engine.people import People
    from chatkey_oauth.engine.switches import Switch, Switches
    from chatkey_oauth.faults.moment import Moment
    from chatkey_oauth.faults.watch import Watch

ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class World(NamedTuple):
    """What all providers of one running fake share. The watch is there while the lab is on."""

    clock: Callable[[], float]
    clients: Clients
    people: People
    switches: Switches
    approval: Approval
    random: Callable[[int], bytes] = token_bytes
    make_key: Callable[[], RSAPrivateKey] = make_key
    watch: Watch | None = None


class Lives(NamedTuple):
    """How long a code, an access token and a refresh token live, in seconds; None: they do not end."""

    code: int
    access: int | None
    refresh: int | None


class Addresses(NamedTuple):
    """One provider's base address for browsers and for servers, and the issuer it signs as."""

    browser: str
    server: str
    issuer: str


class Provider:
    """One imitated provider. Subclasses say what is theirs; paths are relative to the provider's base address."""

    name: ClassVar[str]
    label: ClassVar[str]
    accent: ClassVar[tuple[str, str]]
    """The colour of buttons, on a light and on a dark page."""

    scopes: ClassVar[Mapping[str, str]]
    """Every scope with words for what it shares; the consent page shows them."""
    scope_separator: ClassVar[str] = " "
    default_scope: ClassVar[str | None] = None
    """What is granted when no scope is asked for; None: the parameter is required."""
    strict_scopes: ClassVar[bool] = False
    declinable: ClassVar[frozenset[str]] = frozenset()
    """Scopes a person may leave out while approving the rest."""

    client_parameter: ClassVar[str] = "client_id"
    hint: ClassVar[str] = "login_hint"
    challenge_methods: ClassVar[tuple[str, ...]] = ("S256",)
    response_types: ClassVar[tuple[str, ...]] = ("code",)
    response_modes: ClassVar[tuple[str, ...]] = ("query",)
    response_type_required: ClassVar[bool] = True
    redirect_uri_required: ClassVar[bool] = True
    required_params: ClassVar[tuple[str, ...]] = ()
    """Parameters of the authorization request that must be there although elsewhere they need not."""
    error_heading: ClassVar[str] = "Access blocked"
    error_lead: ClassVar[str] = ""
    """What every error page says before it says what is wrong."""
    fragment: ClassVar[str] = ""

    basic_auth: ClassVar[bool] = True
    """Whether a client may prove itself by a Basic header; where not, the header is ignored."""
    body_auth: ClassVar[bool] = True
    """Whether a secret among the parameters counts."""
    json_bodies: ClassVar[bool] = False
    query_tokens: ClassVar[bool] = False
    """Whether an access token may come as the parameter `access_token`."""
    grant_type_required: ClassVar[bool] = True
    refreshes: ClassVar[bool] = True
    rotates: ClassVar[bool] = True
    reuse_revokes: ClassVar[bool] = False
    numeric_subjects: ClassVar[bool] = False
    code_life: ClassVar[int] = 600
    access_life: ClassVar[int | None] = 3600
    refresh_life: ClassVar[int | None] = None
    code_shape: ClassVar[re.Pattern[str]] = re.compile(r".+", re.DOTALL)
    words: ClassVar[Mapping[Reason, Words]]
    """How the token endpoint puts each refusal."""
    first_keys: ClassVar[int] = 1
    """How many signing keys are published from the start."""
    id_token_typ: ClassVar[str | None] = "JWT"  # noqa: S105 - a type, not a secret
    switches: ClassVar[tuple[Switch, ...]] = ()
    """What is known from one source or none, and so can be had either way."""

    moment: Moment | None = None
    """The request that is being answered, while the lab is on: through it faults act and the timeline is written."""

    def __init__(self, world: World, addresses: Addresses) -> None:
        self.world = world
        self.addresses = addresses
        self.keys = KeyRing(world.make_key, self.first_keys)
        self.grants = Grants()
        self._defaults = {switch.name: switch.default for switch in self.switches}
        self._routes = Routes(self.routes() | self._own_routes())

    def reset(self) -> None:
        """Forget what happened; the signing keys stay, so that what others cached of them holds."""
        self.grants.clear()

    # The way through

    def respond(self, call: Call) -> Answer:
        """Answer a request."""
        handler = self._routes.find(call.method, self.canonical(call.path))
        if self.world.watch is not None:
            return self.world.watch.attend(self, handler, call)
        return self.answer(handler, call)

    def answer(self, handler: Handler, call: Call) -> Answer:
        """What an endpoint answers, or how this provider puts its refusal."""
        try:
            return handler(call)
        except Refusal as refusal:
            return self.refused(call, refusal)

    def refused(self, call: Call, refusal: Refusal) -> Answer:
        """A refusal as this provider puts it."""
        match refusal:
            case ShownToPerson():
                return pages.error_page(self, refusal)
            case SentBack(redirect_uri=uri, params=params, mode=mode):
                return authorize.send_back(self, authorize.Callback(uri, params, mode))
            case TokenRefused():
                return self.token_refusal(call, refusal)
            case BearerRefused():
                return self.bearer_refusal(refusal)
        raise refusal

    def _own_routes(self) -> dict[str, Handler]:
        return {
            "POST /consent": self.consent,
            "GET /avatars/{person}": self.avatar,
        }

    def routes(self) -> dict[str, Handler]:
        """The provider's endpoints: `"GET /path"` or `"GET POST /path"`, where `{name}` stands for one segment."""
        raise NotImplementedError

    def canonical(self, path: str) -> str:
        """Fold the spellings of a path into one; the provider's aliases that follow a rule."""
        return path

    def consent(self, call: Call) -> Answer:
        """The target of the consent form."""
        return authorize.decide(self, call)

    # Authorization endpoint

    def authorize(self, call: Call) -> Answer:
        """The authorization endpoint: the consent page, or what is wrong with the request."""
        return authorize.start(self, call)

    def redirect_allowed(self, client: Client, uri: str) -> bool:
        """Compare a redirect URI with the registered ones, exactly."""
        return uri in client.redirect_uris

    def redirect_refused(self, client: Client, call: Call) -> Exception:
        """What happens to a redirect URI that is not registered: a page, never a redirect to it."""
        del client, call
        return ShownToPerson(400, "redirect_uri_mismatch", "The redirect URI is not registered for this application.")

    def client_refused(self, client_id: str | None) -> Exception:
        """What happens to an unknown client: a page."""
        what = f"No application is registered as {client_id!r}." if client_id else "Missing parameter: client_id."
        return ShownToPerson(400, "invalid_client", what)

    def fault_params(self, error: str, description: str) -> dict[str, str]:
        """The callback's parameters for a faulty request."""
        return {"error": error, "error_description": description}

    def shows_fault(self, error: str) -> bool:
        """Whether a fault of the request is shown to the person even where a redirect would be safe."""
        del error
        return False

    def denied_params(self) -> dict[str, str]:
        """The callback's parameters when the person declines."""
        return {"error": "access_denied"}

    def callback(self, params: Mapping[str, str], query: Mapping[str, str]) -> dict[str, str]:
        """All parameters of a callback in the provider's order, with the `state` of the request if one came."""
        state = {"state": query["state"]} if "state" in query else {}
        return {**params, **state, **self.callback_extras()}

    def callback_extras(self) -> dict[str, str]:
        """Parameters of every callback, such as `iss` (RFC 9207)."""
        return {}

    def approved_params(self, request: AuthorizationRequest, grant: Grant, *, first: bool) -> dict[str, str]:
        """Parameters beside `code` and `state` when the person approves; `first`: never before for this client."""
        del request, grant, first
        return {}

    def front_channel(self, request: AuthorizationRequest, grant: Grant, code: str) -> dict[str, str]:
        """Parameters of the callback that are bound to the code, such as the id_token of a hybrid flow."""
        del request, grant, code
        return {}

    def check_request(self, request: AuthorizationRequest) -> None:
        """Refuse what only this provider refuses in a request that is sound otherwise."""
        del request

    def choices(self, request: AuthorizationRequest) -> str:
        """What else a person chooses on the consent page, as HTML."""
        del request
        return ""

    def settle(self, request: AuthorizationRequest, person: Person, form: Mapping[str, str]) -> dict[str, str]:
        """Act on the choices of the consent form; what is returned is kept with a first approval."""
        del request, person, form
        return {}

    def skips_consent(self, request: AuthorizationRequest) -> bool:
        """Whether someone who already approved is sent back without a page."""
        del request
        return False

    def page_refused(self, request: AuthorizationRequest, *, signed_in: bool) -> str | None:
        """The error of a request that forbids asking the person; `signed_in`: who it is would be known."""
        del request, signed_in
        return None

    def needs_challenge(self, client: Client) -> bool:
        """Whether this client must use PKCE; a public one must everywhere."""
        return client.is_public

    def ignores_challenge(self) -> bool:
        """Whether PKCE is unknown to the provider."""
        return False

    def comparison(self, client: Client, method: str) -> str:
        """How a challenge of this method is compared: a name of `pkce.FORMS`."""
        del client
        return method

    def may_decline(self, request: AuthorizationRequest) -> frozenset[str]:
        """The scopes that a person may leave out while approving the rest."""
        del request
        return self.declinable

    def granted_scopes(self, request: AuthorizationRequest, person: Person, scopes: tuple[str, ...]) -> tuple[str, ...]:
        """What of the scopes a person approves is granted."""
        del request, person
        return scopes

    # Token endpoint

    def lives(self) -> Lives:
        """How long what is issued now will live."""
        return Lives(self.code_life, self.access_life, self.refresh_life)

    def before_issue(self, grant: Grant) -> None:
        """A last condition for a token in exchange for a code. Raises `TokenRefused`."""
        del grant

    def proves(self, client: Client, secret: str) -> bool:
        """Whether a secret proves a client. May raise `TokenRefused` to say why it does not."""
        return same(client.client_secret, secret)

    def token(self, call: Call) -> Answer:
        """The token endpoint."""
        return token.exchange(self, call)

    def token_params(self, call: Call) -> dict[str, str]:
        """The token request's parameters."""
        if call.is_json and not self.json_bodies:
            raise TokenRefused(Reason.CONTENT_TYPE, "content-type")
        return call.form

    def other_grant(self, client: Client, params: Mapping[str, str]) -> Issued:
        """A grant type of this provider's own. Raises `TokenRefused` for one it does not know."""
        del client, params
        raise TokenRefused(Reason.GRANT_TYPE, "grant_type")

    def refreshable(self, request: AuthorizationRequest, *, first: bool) -> bool:
        """Whether the code will bring a refresh token."""
        del request, first
        return self.refreshes

    def token_body(self, issued: Issued) -> dict[str, Any]:
        """The token response."""
        body: dict[str, Any] = {"access_token": issued.access, "token_type": "Bearer"}
        if issued.expires_at is not None:
            body["expires_in"] = issued.expires_at - issued.issued_at
        if issued.refresh is not None:
            body["refresh_token"] = issued.refresh
        return body | {"scope": self.scope_separator.join(issued.grant.scopes)} | self.id_token_member(issued)

    def token_answer(self, call: Call, body: Mapping[str, Any], status: int = 200) -> Answer:
        """The token endpoint's encoding."""
        del call
        return json_answer(body, status, NO_STORE)

    def token_refusal(self, call: Call, refusal: TokenRefused) -> Answer:
        """A refusal of the token endpoint in the provider's words."""
        words = self.words[refusal.reason]
        body = {"error": words.error}
        if words.description is not None:
            body["error_description"] = words.description.replace("{member}", refusal.member)
        return self.token_answer(call, body, words.status)

    def new_code(self) -> str:
        """A fresh authorization code in the provider's format."""
        raise NotImplementedError

    def new_access_token(self) -> str:
        """A fresh access token in the provider's format."""
        raise NotImplementedError

    def new_refresh_token(self) -> str:
        """A fresh refresh token in the provider's format."""
        raise NotImplementedError

    # id_token

    def id_token_member(self, issued: Issued) -> dict[str, str]:
        """The id_token, as a member of the token response, when `openid` was granted."""
        return {"id_token": self.sign_id_token(issued)} if self.signs(issued.grant.scopes) else {}

    def signs(self, scopes: Collection[str]) -> bool:
        """Whether these scopes bring an id_token."""
        return "openid" in scopes

    def sign_id_token(self, issued: Issued, **bound: str) -> str:
        """The signed id_token (OpenID Connect Core 2) with the nonce of the request and `at_hash`, or else `bound`."""
        bound = bound or {"at_hash": half_hash(issued.access)}
        claims = {"iss": self.addresses.issuer, **self.id_claims(issued), **bound}
        if issued.grant.nonce is not None:
            claims["nonce"] = issued.grant.nonce
        return self.seal(claims)

    def seal(self, claims: Mapping[str, Any]) -> str:
        """Sign an id_token."""
        draft = self.keys.draft(claims, typ=self.id_token_typ)
        return seal(draft if self.moment is None else self.moment.id_token(draft))

    def id_claims(self, issued: Issued) -> dict[str, Any]:
        """The claims of the id_token beside `iss`, `at_hash` and `nonce`."""
        raise NotImplementedError

    def jwks(self, call: Call) -> Answer:
        """The public keys."""
        del call
        return json_answer(self.keys.jwks(), headers=(("cache-control", "public, max-age=3600, must-revalidate"),))

    # Behind the access token

    def bearer(self, call: Call, *needed: str) -> Issued:
        """The access token of a request, which must carry one of the needed scopes. Raises `BearerRefused`."""
        text = self.bearer_text(call)
        if not text:
            raise BearerRefused(Problem.MISSING)
        issued = self.grants.access.get(text)
        if issued is None or self.world.people.get(issued.grant.person_id) is None:
            raise BearerRefused(Problem.UNKNOWN)
        if issued.is_revoked:
            raise BearerRefused(Problem.REVOKED)
        if issued.expires_at is not None and issued.expires_at <= self.world.clock():
            raise BearerRefused(Problem.EXPIRED)
        if needed and not set(needed).intersection(issued.grant.scopes):
            raise BearerRefused(Problem.SCOPE, needed[0])
        return issued

    def bearer_text(self, call: Call) -> str | None:
        """The access token of a request, as it came."""
        scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            return credentials.strip()
        return (call.query.get("access_token") or call.form.get("access_token")) if self.query_tokens else None

    def bearer_refusal(self, refusal: BearerRefused) -> Answer:
        """A refusal of the endpoints behind the access token, in the provider's words."""
        raise NotImplementedError

    # People

    def person(self, grant: Grant) -> Person:
        """Who approved. The lab may have removed them since: then the token is as good as unknown."""
        person = self.world.people.get(grant.person_id)
        if person is None:
            raise BearerRefused(Problem.UNKNOWN)
        return person if grant.first else person.later

    def subject(self, person: Person, client_id: str) -> str:
        """The subject id as text: the person's own for this provider, or one derived from it."""
        return person.subjects.get(self.name) or self.derived_subject(person, client_id)

    def derived_subject(self, person: Person, client_id: str) -> str:
        """A subject id in the provider's format."""
        raise NotImplementedError

    def picture(self, person: Person) -> str | None:
        """The address of a person's avatar, which the fake serves itself; None for who has no picture."""
        return self.portrait(person) if person.picture else None

    def portrait(self, person: Person) -> str:
        """The address of an avatar for anybody, as of providers that draw one for who has no picture."""
        return f"{self.addresses.browser}/avatars/{person.id}.svg"

    def avatar(self, call: Call) -> Answer:
        """A person's avatar."""
        person = self.world.people.get(call.path.rpartition("/")[2].removesuffix(".svg"))
        return pages.avatar(person) if person else text_answer("No such avatar.", 404)

    # Switches

    def on(self, name: str) -> bool:
        """Whether a switch of `switches` is on."""
        return self.world.switches.is_on(f"{self.name}.{name}", self._defaults[name])

    # Small things the formats are made of

    @property
    def now(self) -> int:
        """The time in whole seconds."""
        return int(self.world.clock())

    @property
    def browser_path(self) -> str:
        """The path under which browsers see this provider."""
        return urlsplit(self.addresses.browser).path

    def alphanumeric(self, length: int, alphabet: str = ALPHANUMERIC) -> str:
        """Random letters and digits."""
        return self.world.random(length).translate(bytes_to(alphabet)).decode()

    def hexadecimal(self, length: int) -> str:
        """Random lower-case hexadecimal digits."""
        return self.world.random(length // 2).hex()

    def number(self, person: Person, length: int, *more: str) -> str:
        """A number of that many digits that is always the same for a person at this provider."""
        return digits(" ".join((self.name, person.id, *more)), length)


@cache
def bytes_to(alphabet: str) -> bytes:
    """A table from bytes to letters; the slight bias of the modulo does not matter in a fake."""
    return bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(256))


def say(words: Words, reasons: Iterable[Reason]) -> dict[Reason, Words]:
    """The same words for several reasons."""
    return dict.fromkeys(reasons, words)
