"""The interface between the page's `sdk.js` and Python.

It is one call, `start(host)`, made once per widget (again after `shutdown()`). `host` is a JS object from `sdk.js`:

- `baseUrl`: address of the service, without a trailing slash
- `config`: the page's own `{providerId, getToken?}`, unchanged. Python checks it and reports its errors
- `emit(name, detail)`: called for every event. `sdk.js` calls the listeners of `on()`, keeps the detail of
  `identity:changed` as the handle's `identity`, resolves `ready` and fires `service:ready` when the name is `ready`,
  and fires `service:error` when it is `error`, whose detail is `{code, phase, message, remediation, retryable}`
- `blocked`: array of `[address, directive]`, for requests that the page's Content-Security-Policy has blocked so far
- `messages`: array of the message events that sign-in windows have sent so far
- `localBlock(address)`: returns a promise of `"denied"` or `"prompt"` if the missing permission for the local network
  may be the reason why a request to the address has failed, or of null
- `prefetched`: object of URL to `Promise<Response>`, for requests that `sdk.js` made while Python was loading. Each
  response is used once; the object may be empty

`start` returns at once an object with `logout()`, `refreshIdentity(options?)`, `shutdown()`, `debug()`, and `open()`
and `close()` for the panel. Everything else is reported with events.
"""

import time
from collections.abc import Callable
from typing import Any

import js
from pyodide.ffi import create_proxy

from chatkey_protocol.names import OAUTH_MESSAGE
from chatkey_widget import events
from chatkey_widget.browser.chance import SystemChance
from chatkey_widget.browser.host import BrowserHost
from chatkey_widget.browser.http import BrowserHttp
from chatkey_widget.browser.js_values import Listeners, from_plain, member, to_object, to_plain
from chatkey_widget.browser.keys import BrowserKeys
from chatkey_widget.browser.locks import WebLocks
from chatkey_widget.browser.loop import use_page_loop
from chatkey_widget.browser.popups import BrowserPopups
from chatkey_widget.browser.screen import BrowserScreen
from chatkey_widget.browser.sound import BrowserSound
from chatkey_widget.browser.store import BrowserStore
from chatkey_widget.browser.wires import BrowserWires
from chatkey_widget.context import Settings
from chatkey_widget.in_app import is_in_app
from chatkey_widget.machine import Machine
from chatkey_widget.ports import Ports
from chatkey_widget.runtime import Runtime
from chatkey_widget.server_time import ServerTime

PAGE_TIME = ServerTime()
"""The server's time, for all widgets of this page. A skew is therefore reported only once."""


def start(host: Any) -> Any:
    """Start a widget on this page. The module's docstring describes the argument and the result."""
    use_page_loop()
    page = BrowserHost(host)
    settings = Settings(
        base_url=host.baseUrl,
        service_origin=js.URL.new(host.baseUrl).origin,
        page_origin=_page_origin(),
        provider_id=page.provider_id,
        custom_login=page.has_get_token,
        locale=page.locale,
        languages=tuple(js.navigator.languages or ()),
        popups=callable(member(js.window, "open")) and not is_in_app(js.navigator.userAgent),
        calls=callable(member(js, "RTCPeerConnection")),
    )
    locks, listeners = WebLocks(), Listeners()
    store, popups = BrowserStore(settings.provider_id), BrowserPopups()

    def feed(event: events.Event) -> None:
        runtime.feed(event)

    screen = BrowserScreen(feed)
    ports = Ports(
        keys=BrowserKeys(locks),
        store=store,
        http=BrowserHttp(host.prefetched, page.local_block),
        locks=locks,
        wires=BrowserWires(page.local_block),
        popups=popups,
        host=page,
        screen=screen,
        sound=BrowserSound(screen.show_level, page.local_block),
        now=time.time,
        release=lambda: _release(listeners, store),
    )
    runtime = Runtime(Machine(settings, SystemChance(), PAGE_TIME), settings, ports)
    _listen(listeners, feed, store, popups)
    for address, directive in page.blocked:
        feed(events.PolicyBlocked(address, directive))
    for event in page.messages:
        feed(events.PopupMessage(event.origin, False, from_plain(event.data)))
    feed(events.Started(secure=js.isSecureContext, fault=page.fault))
    return _controls(runtime)


def _page_origin() -> str:
    """Return the page's origin. A page in `srcdoc` has no address, but has the origin of its parent."""
    origin = js.location.origin
    return str(js.self.origin if origin == "null" else origin)


def _controls(runtime: Runtime) -> Any:
    """Return the functions for the page's handle."""

    def refresh(options: Any = None, *_: object) -> None:
        runtime.feed(events.RefreshAsked(force=member(options, "force") is True))

    functions: dict[str, Callable[..., object]] = {
        "logout": lambda *_: runtime.feed(events.LogoutAsked()),
        "refreshIdentity": refresh,
        "shutdown": lambda *_: runtime.feed(events.ShutdownAsked()),
        "open": lambda *_: runtime.feed(events.PanelToggled(open=True)),
        "close": lambda *_: runtime.feed(events.PanelToggled(open=False)),
        "debug": lambda *_: to_plain(runtime.machine.debug()),
    }
    return to_object({name: create_proxy(function) for name, function in functions.items()})


def _listen(
    listeners: Listeners, feed: Callable[[events.Event], None], store: BrowserStore, popups: BrowserPopups
) -> None:
    """Convert events of the browser into events of the widget."""

    def stored(event: Any) -> None:
        if not event.key or event.key == store.key:  # no key: the whole storage was cleared
            feed(events.StoredTokenChanged(store.read()))

    def logged_out(_event: Any) -> None:
        # If a token is there, it was stored after the logout, or its removal will cause an event of its own.
        if store.is_alone or store.read() is None:
            feed(events.LogoutAsked(heard=True))

    def shown(event: Any) -> None:
        if event.persisted:
            feed(events.StoredTokenChanged(store.read()))
            feed(events.Woken("pageshow"))

    def visible(_event: Any) -> None:
        if js.document.visibilityState == "visible":
            feed(events.Woken("visible"))

    def message(event: Any) -> None:
        if member(event.data, "type") == OAUTH_MESSAGE:
            feed(events.PopupMessage(event.origin, popups.is_source(event), from_plain(event.data)))

    def violated(event: Any) -> None:
        if event.disposition == "enforce":
            feed(events.PolicyBlocked(event.blockedURI, event.effectiveDirective))

    listeners.add(js.document, "securitypolicyviolation", violated)
    listeners.add(js.window, "storage", stored)
    listeners.add(js.window, "pageshow", shown)
    listeners.add(js.window, "message", message)
    listeners.add(js.window, "online", lambda _event: feed(events.Woken("online")))
    listeners.add(js.document, "visibilitychange", visible)
    if store.channel is not None:
        listeners.add(store.channel, "message", logged_out)


def _release(listeners: Listeners, store: BrowserStore) -> None:
    listeners.remove_all()
    if store.channel is not None:
        store.channel.close()
