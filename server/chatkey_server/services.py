"""The objects that all parts of a running server share. `app.py` creates each of them once."""

from __future__ import annotations

from dataclasses import dataclass

from chatkey_server.chat.call_keeper import CallKeeper
from chatkey_server.chat.catch_up import CatchUp
from chatkey_server.chat.events import PROVIDERS
from chatkey_server.chat.hub import Hub
from chatkey_server.chat.service import Chat
from chatkey_server.clock import Clock
from chatkey_server.limits.rates import Rates
from chatkey_server.peers.open_sockets import Sockets
from chatkey_server.settings import Settings
from chatkey_server.storage.providers import Providers
from chatkey_server.storage.vault import Vault


@dataclass(frozen=True, slots=True)
class Services:
    """The shared objects, one of each for the lifetime of the process."""

    settings: Settings
    clock: Clock
    vault: Vault
    providers: Providers
    hub: Hub
    catch_up: CatchUp
    chat: Chat
    keeper: CallKeeper
    sockets: Sockets
    rates: Rates

    def provider_changed(self, provider_id: str | None = None) -> None:
        """Make every process reload a provider, or all providers if the id is None."""
        self.hub.publish(PROVIDERS, (provider_id or "").encode())
