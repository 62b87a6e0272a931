"""Counts the open resources of a page: sockets, timers, listeners, and Python functions that JavaScript refers to."""

from playwright.sync_api import Page

COUNT = """(() => {
  const sockets = new Set(), timers = new Set(), proxies = new Set();
  const listeners = new Map(); // of each target: "name capture", and for each the functions
  const heard = (target, name, options) => {
    const key = `${name} ${Boolean(options?.capture ?? options)}`;
    if (!listeners.has(target)) listeners.set(target, new Map());
    if (!listeners.get(target).has(key)) listeners.get(target).set(key, new Set());
    return listeners.get(target).get(key);
  };
  const around = (owner, name, apply) => { owner[name] = new Proxy(owner[name], { apply }); };

  window.WebSocket = new Proxy(WebSocket, {
    construct(...given) {
      const socket = Reflect.construct(...given);
      sockets.add(socket);
      return socket;
    },
  });
  for (const kind of ["Timeout", "Interval"]) {
    around(window, `set${kind}`, (set, page, [run, ...others]) => {
      const number = set.call(page, (...values) => {
        if (kind === "Timeout") timers.delete(number);
        run(...values);
      }, ...others);
      timers.add(number);
      return number;
    });
    around(window, `clear${kind}`, (clear, page, [number]) => {
      timers.delete(number);
      clear.call(page, number);
    });
  }
  around(EventTarget.prototype, "addEventListener", (add, target, [name, listener, options]) => {
    heard(target ?? window, name, options).add(listener);
    add.call(target, name, listener, options);
  });
  around(EventTarget.prototype, "removeEventListener", (remove, target, [name, listener, options]) => {
    heard(target ?? window, name, options).delete(listener);
    remove.call(target, name, listener, options);
  });
  // Pyodide registers every function of Python that JavaScript holds, until it is let go.
  around(FinalizationRegistry.prototype, "register", (register, registry, [held, value, token]) => {
    proxies.add(token);
    register.call(registry, held, value, token);
  });
  around(FinalizationRegistry.prototype, "unregister", (unregister, registry, [token]) => {
    proxies.delete(token);
    return unregister.call(registry, token);
  });

  window.leftovers = () => ({
    sockets: [...sockets].filter((socket) => socket.readyState !== WebSocket.CLOSED).length,
    timers: timers.size,
    listeners: [...listeners.values()].flatMap((names) => [...names.values()]).reduce((sum, all) => sum + all.size, 0),
    proxies: proxies.size,
    elements: document.querySelectorAll("chatkey-widget").length,
  });
})();"""


def count(page: Page) -> None:
    """Start to count on every page that this tab loads."""
    page.add_init_script(COUNT)


def leftovers(page: Page) -> dict[str, int]:
    """Wait until every socket is closed, and return the number of remaining resources of each kind."""
    page.wait_for_function("() => leftovers().sockets === 0")
    counted: dict[str, int] = page.evaluate("() => leftovers()")
    return counted
