"""Where the page's `sdk.js` hands over to Python.

The bridge is one call, `start(host)`, made once per widget (again after `shutdown()`), with a JS object from `sdk.js`:

- `baseUrl`: address of the service, without a trailing slash
- `config`: the page's own `{providerId, getToken?}`, untouched: its mistakes are judged and named here
- `emit(name, detail)`: called for every event. `sdk.js` tells the listeners of `on()`, keeps the detail of
  `identity:changed` as the handle's `identity`, resolves `ready` and fires `service:ready` when the name is `ready`,
  and fires `service:error` when it is `error`, whose detail is `{code, phase, message, remediation, retryable}`
- `blocked`: array of `[address, directive]`, for what the page's Content-Security-Policy blocked until now
- `messages`: array of the message events of sign-in windows that came until now
- `prefetched`: object of URL to `Promise<Response>`, for what `sdk.js` asked for while Python was loading; each is
  taken once, and it may be empty

`start` returns at once an object with `logout()`, `refreshIdentity(options?)`, `shutdown()`, `debug()`, and `open()`
and `close()` for the panel; everything else comes by events.
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
from chatkey_widget.browser.store import BrowserStore
from chatkey_widget.browser.wires import BrowserWires
from chatkey_widget.context import Settings
from chatkey_widget.machine import Machine
from chatkey_widget.ports import Ports
from chatkey_widget.runtime import Runtime
from chatkey_widget.server_time import ServerTime

PAGE_TIME = ServerTime()
"""What a widget of this page learned of the time serves the next one too, and a skew is told once."""


def start(host: Any) -> Any:
    """Start a widget on this page; see above for what comes in and goes out."""
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
        popups=callable(member(js.window, "open")),
    )
    locks, listeners = WebLocks(), Listeners()
    store, popups = BrowserStore(settings.provider_id), BrowserPopups()

    def feed(event: events.Event) -> None:
        runtime.feed(event)

    ports = Ports(
        keys=BrowserKeys(locks),
        store=store,
        http=BrowserHttp(host.prefetched),
        locks=locks,
        wires=BrowserWires(),
        popups=popups,
        host=page,
        screen=BrowserScreen(feed),
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
    """The page's origin; a page written into `srcdoc` has no address of its own, but its parent's origin."""
    origin = js.location.origin
    return str(js.self.origin if origin == "null" else origin)


def _controls(runtime: Runtime) -> Any:
    """The functions behind the page's handle."""

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
    """Pass on what the browser tells the page."""

    def stored(event: Any) -> None:
        if not event.key or event.key == store.key:  # no key: everything was cleared
            feed(events.StoredTokenChanged(store.read()))

    def logged_out(_event: Any) -> None:
        # A token that is there now was stored after the logout, or goes with an event of its own.
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
