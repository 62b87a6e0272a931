// Only in the demo: shows the page that frames this one what the widget is doing. No token leaves the page, only its
// claims, and those of the proof: they come with the events, since debug() hides what is personal.
(() => {
  "use strict";

  const { hub = "" } = /** @type {HTMLScriptElement} */ (document.currentScript).dataset;
  const { parent } = window;
  if (parent === window) return;

  const page = `${performance.timeOrigin}`;
  const shown = /** @type {{ call?: object }} */ ({});
  let due = false;

  /** Once for everything that happens in one turn. */
  function tell() {
    if (due) return;
    due = true;
    setTimeout(() => {
      due = false;
      const { debug, identity } = /** @type {chatkey.Handle} */ (window.Service);
      parent.postMessage({ type: "chatkey:spy", page, identity, debug: { ...debug(), ...shown } }, hub);
    });
  }

  /** @param {chatkey.Handle} service */
  function watch(service) {
    service.on("token:used", ({ claims }) => Object.assign(shown, { claims }));
    service.on("socket:proof", (proof) => Object.assign(shown, { proof }));
    service.on("call:changed", ({ state }) => note(state === "ringing" ? { state, sound: "", proof: null } : { state }));
    service.on("call:proof", (proof) => note({ proof, isVerified: false }));
    service.on("call:verified", () => note({ isVerified: true }));
    service.on("call:sound", ({ state: sound }) => note({ sound }));
    service.on("*", tell);
    tell();
  }

  /** @param {object} members */
  function note(members) {
    shown.call = { ...shown.call, ...members };
  }

  /** A computer without a microphone calls with a few notes. */
  function notes() {
    const context = new AudioContext();
    const sink = context.createMediaStreamDestination();
    const oscillator = new OscillatorNode(context);
    oscillator.connect(new GainNode(context, { gain: 0.2 })).connect(sink);
    for (let at = 0; at < 600; at++) oscillator.frequency.setValueAtTime([330, 392, 494][at % 3], at / 2);
    oscillator.start();
    return sink.stream;
  }

  const { mediaDevices } = navigator;
  const microphone = mediaDevices?.getUserMedia.bind(mediaDevices);
  if (microphone) {
    mediaDevices.getUserMedia = (wanted) =>
      microphone(wanted).catch((error) => (error.name === "NotFoundError" ? notes() : Promise.reject(error)));
  }

  /** Forget everything this origin holds: key, cached token, the shop's session. The next page is a new visitor. */
  async function reset() {
    if (window.Service && "shutdown" in window.Service) window.Service.shutdown();
    localStorage.clear();
    for (const { name } of await indexedDB.databases()) await deleted(name ?? "");
    await fetch("logout", { method: "POST", redirect: "manual" });
    location.replace(location.pathname);
  }

  /** @param {string} name @returns {Promise<void>} */
  function deleted(name) {
    return new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(name);
      request.onsuccess = request.onblocked = () => resolve();
      request.onerror = () => reject(request.error);
    });
  }

  addEventListener("message", ({ origin, source, data }) => {
    if (origin === hub && source === parent && data?.type === "chatkey:spy:reset") reset();
  });

  (window.Service ??= []).push(watch);
})();
