"""Observes the socket traffic of a context's pages from inside the page, which works in every browser."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import BrowserContext

BINDING = "__chatkey_socket"

REPORT = """(() => {
  const report = window.BINDING;
  delete window.BINDING;
  const { WebSocket, EventTarget } = window;
  const { addEventListener } = EventTarget.prototype;
  const ids = new WeakMap();
  const page = Math.random();
  let count = 0;
  window.WebSocket = new Proxy(WebSocket, {
    construct(target, parameters, newTarget) {
      const socket = Reflect.construct(target, parameters, newTarget);
      const id = `${page} ${(count += 1)}`;
      ids.set(socket, id);
      report({ id, url: socket.url });
      Reflect.apply(addEventListener, socket, ["close", () => report({ id, closed: true })]);
      Reflect.apply(addEventListener, socket, ["message", ({ data }) => {
        if (typeof data === "string" && /"(ready|ack|error)"/.test(data) && data.length < 4096)
          report({ id, heard: data });
      }]);
      return socket;
    },
  });
  const bytes = (_, value) => (value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value);
  const say = (data) => report({ said: JSON.stringify(data, bytes) ?? "" });
  Reflect.apply(addEventListener, window, ["message", ({ data }) => say(data), true]);
  BroadcastChannel.prototype.postMessage = new Proxy(BroadcastChannel.prototype.postMessage, {
    apply(target, channel, parameters) {
      Reflect.apply(target, channel, parameters);
      say(parameters[0]);
    },
  });
  WebSocket.prototype.constructor = window.WebSocket;
  WebSocket.prototype.send = new Proxy(WebSocket.prototype.send, {
    apply(target, socket, parameters) {
      Reflect.apply(target, socket, parameters);
      report({ id: ids.get(socket), text: String(parameters[0]) });
    },
  });
})();""".replace("BINDING", BINDING)
"""Proxies keep WebSocket's names, constants, `instanceof` and source text, so that no page can detect the script."""


@dataclass(slots=True)
class Socket:
    """One socket that a page opened."""

    url: str
    closed: bool = False

    def is_closed(self) -> bool:
        """Return whether the page has received the socket's close event."""
        return self.closed


@dataclass(frozen=True, slots=True)
class Sent:
    """One text message that a page sent on a socket."""

    uri: str
    text: str

    @property
    def frame(self) -> dict[str, Any]:
        """The text, parsed as a frame, or no members if it is not one."""
        try:
            frame = json.loads(self.text)
        except ValueError:
            return {}
        return frame if isinstance(frame, dict) else {}


def watch_sockets(
    context: BrowserContext,
    opened: Callable[[Socket], None],
    sent: Callable[[Sent], None],
    heard: Callable[[str], None] = lambda _: None,
    said: Callable[[str], None] = lambda _: None,
) -> None:
    """From now on, call `opened` for each socket, `sent` for each sent text, `heard` for each `ready`, `ack` and
    `error`, and `said` for each message between windows.
    """
    sockets: dict[str, Socket] = {}

    def note(_source: object, told: dict[str, Any]) -> None:
        if "url" in told:
            sockets[told["id"]] = Socket(told["url"])
            opened(sockets[told["id"]])
        elif "text" in told:
            sent(Sent(sockets[told["id"]].url, told["text"]))
        elif "heard" in told:
            heard(told["heard"])
        elif "said" in told:
            said(told["said"])
        else:
            sockets[told["id"]].closed = True

    context.expose_binding(BINDING, note)
    context.add_init_script(REPORT)
