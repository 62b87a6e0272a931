// "What is going on": the sections of one mode, drawn anew when its widget tells something, ticking in between.

import { element } from "./dom.js";
import { sections } from "./sections.js";

/** @import { Section } from "./sections.js" */
/** @import { Watch } from "./watch.js" */

export class Inspector {
  /** @param {HTMLElement} place @param {Watch} watch */
  constructor(place, watch) {
    this.watch = watch;
    this.place = place;
    this.scroller = element("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "State" });
    place.append(this.scroller);
    this.bodies = sections.map((section) => this.#add(section));
  }

  /** Draw every section. */
  draw() {
    for (const [index, section] of sections.entries()) {
      this.bodies[index].replaceChildren(...section.draw(this.watch));
    }
    this.tick();
  }

  /** Count down what has an end. */
  tick() {
    const { now } = this.watch;
    for (const shown of /** @type {NodeListOf<HTMLElement>} */ (this.place.querySelectorAll("[data-until]"))) {
      const left = Math.max(0, Number(shown.dataset.until) - now);
      if (shown instanceof HTMLProgressElement) shown.value = left;
      else shown.textContent = left > 0 ? `${duration(left)} left` : "ended";
    }
  }

  /**
   * A section scrolls with the others, or stays in sight beneath them.
   * @param {Section} section
   */
  #add({ title, name, stays }) {
    const scrolls = stays ? { tabindex: "0", role: "group", "aria-label": title } : {};
    const body = element("div", { class: "body", ...scrolls });
    const place = stays ? this.place : this.scroller;
    place.append(element("details", { open: "", class: name }, element("summary", {}, title), body));
    return body;
  }
}

/** @param {number} seconds */
function duration(seconds) {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  if (hours) return `${hours} h ${minutes} min`;
  if (minutes) return `${minutes} min ${whole % 60} s`;
  return `${whole} s`;
}
