// A service worker that answers from its cache whatever it has seen before, as those do that make a page work offline.

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));

worker.addEventListener("install", () => worker.skipWaiting());
worker.addEventListener("activate", (event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener("fetch", (event) => event.respondWith(fromCache(event.request)));

/** @type {(request: Request) => Promise<Response>} */
async function fromCache(request) {
  const cache = await caches.open("everything");
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (request.method === "GET" && answer.ok) await cache.put(request, answer.clone());
  return answer;
}
