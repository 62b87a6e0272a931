"""What the parts of one running server share. Built once in `app.py`, handed to every router."""

from __future__ import annotations

from dataclasses import dataclass

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
    """One of each, for the life of the process."""

    settings: Settings
    clock: Clock
    vault: Vault
    providers: Providers
    hub: Hub
    chat: Chat
    sockets: Sockets
    rates: Rates
