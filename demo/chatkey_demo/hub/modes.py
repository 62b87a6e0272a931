"""The four identity modes of the demo. Each mode has a business with a shop, a provider and keys."""

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from chatkey_protocol.names import AVAILABLE_SOCIALS
from chatkey_stack.applications import new_application
from chatkey_stack.lab import SocialKeys
from chatkey_stack.site.pages import snippet
from chatkey_stack.site.token_backend import TokenBackend
from chatkey_stack.stack import SERVICE_NAME, Stack


@dataclass(frozen=True, slots=True)
class Mode:
    """One identity mode (contract 1) and the business that shows this mode.

    `key` is the hash of the tab and the slug of the shop, `what` describes the mode, and `steps` lists things to try,
    in order.
    """

    key: str
    label: str
    hint: str
    shop: str
    colour: str
    what: str
    steps: Sequence[str]
    get_token: bool = False
    socials: str = ""

    @property
    def provider_id(self) -> str:
        """The provider's id. It is the same in every run, so that a token from an earlier run is checked as usual."""
        return f"demo-{self.key}"


MODES = (
    Mode(
        key="visitor",
        label="Visitor",
        hint="no sign-in",
        shop="Alder & Loam",
        colour="#8a4b2a",
        what="Nobody signs in. The browser makes a key that cannot be exported, and the fingerprint of that key "
        "is the visitor's identity.",
        steps=(
            "Open the chat in the corner, write something or call, and answer as the agent.",
            "Reload the shop: the key, the visitor and the conversation are the same.",
            "Press Reset: the key is deleted, and a new visitor comes in.",
        ),
    ),
    Mode(
        key="custom",
        label="Custom login",
        hint="getToken",
        shop="Birch & Bone",
        colour="#2f6b4f",
        what="The shop already knows its customers. Its own backend signs a token for the signed-in person, bound "
        "to this browser's key.",
        steps=(
            "Choose a customer under Customer account: the widget signs in as that member automatically.",
            "Reload the shop: the cached token is used again, without a call to the backend.",
            "Leave the shop. You are the same visitor as before, with the same conversation.",
        ),
        get_token=True,
    ),
    Mode(
        key="social",
        label="Social login",
        hint="the service's keys",
        shop="Cedar & Salt",
        colour="#7a2e4d",
        what="The shop writes no code: the widget offers social login through applications that belong to the "
        "chat service.",
        steps=(
            "Open chat, press Sign in and choose a provider.",
            f"The consent page names {SERVICE_NAME}. Press Cancel once, then Continue.",
            "Reload the shop: the identity lasts 24 hours, so no popup is needed.",
        ),
        socials="service",
    ),
    Mode(
        key="own-keys",
        label="Social login",
        hint="own keys",
        shop="Dune & Ember",
        colour="#34507c",
        what=(
            "The same social login, but through applications that the shop registered itself and entered in the "
            "service."
        ),
        steps=(
            "Open chat, press Sign in and choose a provider.",
            "This time the consent page names Dune & Ember.",
            "Only the client_id differs. The login creates the same kind of member.",
        ),
        socials="own",
    ),
)


@dataclass(frozen=True, slots=True)
class OpenMode:
    """A mode whose shop is open, with the shop's address and the integration code."""

    mode: Mode
    url: str
    snippet: str

    @property
    def origin(self) -> str:
        return self.url.removesuffix(f"/{self.mode.key}/")

    def shown(self) -> dict[str, object]:
        """Return the data for the script of the page."""
        return {"key": self.mode.key, "url": self.url, "origin": self.origin}


def open_modes(stack: Stack, origins: Sequence[str], hub: str) -> list[OpenMode]:
    """Open one shop for each mode, each at one of the origins. The hub's page may observe the shops' widgets."""
    return [_open(stack, mode, origin, hub) for mode, origin in zip(MODES, origins, strict=True)]


def backend() -> str:
    """Return the source of the two methods of an integrator's token endpoint."""
    methods = (TokenBackend.answer, TokenBackend.token_for)
    return "\n".join(textwrap.dedent(inspect.getsource(method)) for method in methods).strip()


def _open(stack: Stack, mode: Mode, origin: str, hub: str) -> OpenMode:
    provider = stack.service_lab.add_provider(
        domains=[origin.partition("://")[2]],
        socials={social: _keys(stack, mode, social) for social in AVAILABLE_SOCIALS} if mode.socials else {},
        id=mode.provider_id,
        name=f"{mode.shop} · {mode.label.lower()}, {mode.hint}",
        ui_colour=mode.colour,
        livechat_title=mode.shop,
        livechat_greeting="Good morning! What can we do for you?",
    )
    stack.site_lab.open_shop(mode.key, provider, get_token=mode.get_token, title=mode.shop, spy=hub)
    sdk = f"{stack.service.browser_url}/assets/sdk.js"
    return OpenMode(mode, f"{origin}/{mode.key}/", snippet(provider.id, sdk, get_token=mode.get_token))


def _keys(stack: Stack, mode: Mode, social: str) -> SocialKeys:
    """Return the keys with which the mode uses a social provider. If the mode needs its own keys, register new ones."""
    if mode.socials == "service":
        return SocialKeys("service")
    application = new_application(social, f"dune-ember-{social}")
    stack.register(application, mode.shop)
    return SocialKeys("own", application)
