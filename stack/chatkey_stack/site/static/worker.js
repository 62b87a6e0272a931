// A service worker that all requests of the shop's pages go through, those of the widget too.

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => event.respondWith(fetch(event.request)));
