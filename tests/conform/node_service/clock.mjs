// @ts-check
/** The service's time, which a lab can move, and what is due at a time. */

const SOON = 2 ** 30;

/** @typedef {{due: number, ring: () => void, timer?: NodeJS.Timeout}} Alarm */

export class Clock {
  offset = 0;
  /** @type {Set<Alarm>} */
  alarms = new Set();

  /** Seconds since the epoch, with fractions. */
  precise() {
    return Date.now() / 1000 + this.offset;
  }

  /** Whole seconds since the epoch. */
  now() {
    return Math.floor(this.precise());
  }

  /** Ring once at a time; the answer takes it back. @param {number} due @param {() => void} ring */
  at(due, ring) {
    /** @type {Alarm} */
    const alarm = { due, ring };
    this.alarms.add(alarm);
    this.set(alarm);
    return () => {
      clearTimeout(alarm.timer);
      this.alarms.delete(alarm);
    };
  }

  /** Move the time; `alarms` false leaves what becomes due to the next move. @param {number} seconds */
  advance(seconds, alarms = true) {
    this.offset += seconds;
    if (alarms) this.look();
  }

  reset() {
    this.offset = 0;
    this.look();
  }

  /** Ring at once what is due, so that it has happened when the lab answers. */
  look() {
    for (const alarm of [...this.alarms].sort((one, other) => one.due - other.due)) {
      clearTimeout(alarm.timer);
      this.ring(alarm);
    }
  }

  /** @param {Alarm} alarm */
  set(alarm) {
    const wait = (alarm.due - this.precise()) * 1000;
    alarm.timer = setTimeout(() => this.ring(alarm), Math.min(Math.max(wait, 0), SOON));
  }

  /** @param {Alarm} alarm */
  ring(alarm) {
    if (!this.alarms.has(alarm)) return;
    if (alarm.due > this.precise()) return this.set(alarm);
    this.alarms.delete(alarm);
    alarm.ring();
  }
}

/** So many at once, and as many again evenly in `seconds`, for each key; 0 is no limit. */
export class Allowance {
  /** @param {number} most @param {number} seconds @param {() => number} now seconds */
  constructor(most, seconds, now) {
    this.most = most;
    this.rate = most / seconds;
    this.now = now;
    /** @type {Map<string, {left: number, at: number}>} */
    this.kept = new Map();
  }

  /** Take one; the seconds until there is one again, or 0 if there was. @param {string} key */
  take(key) {
    if (!this.most) return 0;
    const now = this.now();
    const { left, at } = this.kept.get(key) ?? { left: this.most, at: now };
    const filled = Math.min(this.most, left + Math.max(0, now - at) * this.rate);
    this.kept.set(key, { left: filled < 1 ? filled : filled - 1, at: now });
    return filled < 1 ? Math.max(1, Math.ceil((1 - filled) / this.rate)) : 0;
  }
}
