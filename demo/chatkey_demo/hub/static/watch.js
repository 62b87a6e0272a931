// What the shops' pages tell of their widgets: one state for each mode, from messages of exactly that shop's page.

const MOST_EVENTS = 300;

/**
 * @typedef {{ at: number, name: string, detail: object }} Told
 * @typedef {{ exp: number, iat?: number, email?: string, data?: { auth_provider?: string } }} Claims
 * @typedef {{ header: chatkey.Members, claims: chatkey.Members }} CallProof
 * @typedef {{ state: string, sound: string, proof: CallProof | null, isVerified?: boolean }} Call
 * @typedef {Omit<chatkey.Debug, "claims"> & { claims?: (chatkey.Members & Claims) | null, call?: Call }} State
 * What the spy in a shop's page tells: the widget's debug(), with the claims that it hides.
 */

/** Keeps what one shop's widget told last, and its events over page loads. */
export class Watch {
  /** @param {{ key: string, origin: string }} mode @param {HTMLIFrameElement} frame */
  constructor({ key, origin }, frame) {
    this.key = key;
    this.origin = origin;
    this.frame = frame;
    this.page = /** @type {string | null} */ (null);
    this.debug = /** @type {State | null} */ (null);
    this.identity = /** @type {chatkey.Person | null} */ (null);
    this.earlier = /** @type {Told[]} */ ([]); // of pages before this one
  }

  /** All events, oldest first; a new page is one too. @returns {Told[]} */
  get events() {
    return [...this.earlier, ...(this.debug?.events ?? [])];
  }

  /** The server's time in seconds, as the widget knows it. */
  get now() {
    return Date.now() / 1000 + (this.debug?.clock_offset ?? 0);
  }

  /**
   * Take a message; tell whether it was this shop's.
   * @param {MessageEvent} event
   */
  take({ origin, source, data }) {
    if (origin !== this.origin || source !== this.frame.contentWindow || data?.type !== "chatkey:spy") return false;
    if (this.page !== null && data.page !== this.page) this.turn();
    this.page = data.page;
    this.debug = data.debug;
    this.identity = data.identity;
    return true;
  }

  /** The page went: keep its events. */
  turn() {
    const loaded = { at: Date.now() / 1000, name: "page:loaded", detail: {} };
    this.earlier = [...this.events, loaded].slice(-MOST_EVENTS);
    this.debug = null;
    this.identity = null;
  }

  /** Ask the shop's page to forget everything this origin holds, and to load again. */
  reset() {
    this.earlier = [];
    this.debug = null;
    this.page = null;
    this.frame.contentWindow?.postMessage({ type: "chatkey:spy:reset" }, this.origin);
  }
}
