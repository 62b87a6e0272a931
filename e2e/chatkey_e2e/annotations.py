"""The types of fixtures that return a function, for annotations in tests."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page

from chatkey_e2e.business import Business
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.pages.driven import DrivenWidget
from chatkey_peer.peer import Peer

Members = dict[str, Any]
NewContext = Callable[..., BrowserContext]
MakeBusiness = Callable[..., Business]
MakeDriven = Callable[[Page], DrivenWidget]
MakeFaults = Callable[[BrowserContext], Faults]
MakePeer = Callable[..., Peer]
Advance = Callable[[float], None]
Restart = Callable[[], None]
Watch = Callable[..., BrowserContext]
