/**
 * A client for the fake's lab, with the same names as the Python client (`chatkey_oauth.client`). Needs only a running
 * fake and `fetch`.
 *
 * @import { FakeOAuth as Lab, Flow, Options, Rule, Scope, Step, Verdict } from "./index.d.ts"
 */

/** How many milliseconds a response may take, in addition to a requested wait. */
const PATIENCE = 30_000;

/** The cookie with which a browser context marks its flows. */
export const FLOW_COOKIE = "chatkey_flow";

export class LabError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.name = "LabError";
    this.status = status;
    this.code = code;
  }
}

export class FaultNotHit extends Error {
  /** @param {Rule} rule */
  constructor(rule) {
    const asked = Object.entries(rule.scope).filter(([, value]) => value != null);
    const whom = asked.map(([name, value]) => `${name} '${value}'`).join(", ") || "everyone";
    super(
      `The fault '${rule.fault}' for ${whom} was armed but never acted. Either no request reached the leg on which it acts, ` +
        "or none was in its scope. See the timelines at /lab/flows.",
    );
    this.name = "FaultNotHit";
    this.rule = rule;
  }
}

/** @implements {Lab} */
export class FakeOAuth {
  #headers;

  /**
   * @param {string} url
   * @param {{ token?: string }} [options]
   */
  constructor(url, { token = "" } = {}) {
    this.url = url.replace(/\/+$/, "");
    this.#headers = {
      accept: "application/json",
      "content-type": "application/json",
      ...(token && { authorization: `Bearer ${token}` }),
    };
  }

  // Overview

  /** @type {Lab["overview"]} */
  overview() {
    return this.#ask("GET", "");
  }

  /** @type {Lab["now"]} */
  async now() {
    return (await this.#ask("GET", "/clock")).now;
  }

  /** @type {Lab["advance"]} */
  async advance(seconds) {
    return (await this.#ask("POST", "/clock", { body: { advance: seconds } })).now;
  }

  /** @type {Lab["reset"]} */
  async reset() {
    await this.#ask("POST", "/reset");
  }

  // Applications and people

  /** @type {Lab["clients"]} */
  clients() {
    return this.#ask("GET", "/clients");
  }

  /** @type {Lab["addClient"]} */
  addClient(provider, client) {
    return this.#ask("POST", "/clients", { body: { provider, ...client } });
  }

  /** @type {Lab["removeClient"]} */
  async removeClient(provider, clientId) {
    await this.#ask("DELETE", `/clients/${segment(provider)}/${segment(clientId)}`);
  }

  /** @type {Lab["people"]} */
  people() {
    return this.#ask("GET", "/people");
  }

  /** @type {Lab["putPerson"]} */
  putPerson(person) {
    return this.#ask("PUT", `/people/${segment(person.id)}`, { body: person });
  }

  /** @type {Lab["removePerson"]} */
  async removePerson(personId) {
    await this.#ask("DELETE", `/people/${segment(personId)}`);
  }

  // Faults

  /** @type {Lab["catalogue"]} */
  async catalogue() {
    return (await this.overview()).faults;
  }

  /** @type {Lab["arm"]} */
  arm(fault, scope = {}, { times = 1, ...options } = {}) {
    return this.#ask("POST", "/faults", { body: { fault, scope, times, with: options } });
  }

  /** @type {Lab["disarm"]} */
  disarm(ruleId) {
    return this.#ask("DELETE", `/faults/${segment(ruleId)}`);
  }

  /** @type {Lab["rules"]} */
  rules() {
    return this.#ask("GET", "/faults");
  }

  /**
   * @template T
   * @param {string} fault
   * @param {Scope} scope
   * @param {Options} options
   * @param {(rule: Rule) => T | Promise<T>} block
   * @returns {Promise<T>}
   */
  async misbehave(fault, scope, options, block) {
    const rule = await this.arm(fault, scope, options);
    let result;
    try {
      result = await block(rule);
    } catch (error) {
      await this.disarm(rule.id);
      throw error;
    }
    const disarmed = await this.disarm(rule.id);
    if (!disarmed.hits) throw new FaultNotHit(disarmed);
    return result;
  }

  // What happened

  /** @type {Lab["token"]} */
  token(provider, clientId, account, more = {}) {
    return this.#ask("POST", "/token", { body: { provider, client_id: clientId, account: account ?? null, ...more } });
  }

  /** @type {Lab["sessions"]} */
  sessions() {
    return this.#ask("GET", "/sessions");
  }

  /** @type {Lab["logouts"]} */
  logouts() {
    return this.#ask("GET", "/logouts");
  }

  /** @type {Lab["flows"]} */
  flows(scope = {}) {
    return this.#ask("GET", "/flows", { query: scope });
  }

  /** @type {Lab["flow"]} */
  flow(flowId) {
    return this.#ask("GET", `/flows/${segment(flowId)}`);
  }

  /** @type {Lab["timeline"]} */
  async timeline(flowId) {
    return timelineText(await this.flow(flowId));
  }

  /** @type {Lab["pageOf"]} */
  pageOf(flowId) {
    return `${this.url}/lab/flows/${segment(flowId)}/page`;
  }

  /** @type {Lab["requests"]} */
  async requests({ wait = 0, ...filters } = {}) {
    const asked = { query: { ...filters, wait }, patience: PATIENCE + wait * 1000 };
    return (await this.#ask("GET", "/requests", asked)).requests;
  }

  // Providers

  /** @type {Lab["rotateKeys"]} */
  rotateKeys(provider) {
    return this.#ask("POST", `/providers/${segment(provider)}/keys`);
  }

  /** @type {Lab["switches"]} */
  switches() {
    return this.#ask("GET", "/switches");
  }

  /** @type {Lab["switch"]} */
  switch(key, on) {
    return this.#ask("PUT", `/switches/${segment(key)}`, { body: { on } });
  }

  /** @type {Lab["autoApprove"]} */
  async autoApprove(account) {
    await this.#ask("PUT", "/auto-approve", { body: { account } });
  }

  // The wire

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ body?: object, query?: object, patience?: number }} [more]
   * @returns {Promise<any>}
   */
  async #ask(method, path, { body, query = {}, patience = PATIENCE } = {}) {
    const asked = Object.entries(query).filter(([, value]) => value != null);
    const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)]));
    const answer = await fetch(`${this.url}/lab${path}${search.size ? `?${search}` : ""}`, {
      method,
      headers: this.#headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
    });
    const text = await answer.text();
    if (!answer.ok) throw refusal(`${method} /lab${path}`, answer.status, text);
    return JSON.parse(text).data;
  }
}

/** @type {typeof import("./index.d.ts").timelineText} */
export function timelineText(flow) {
  const who = flow.account ? `as ${flow.account}` : "nobody has signed in";
  const lines = [`${flow.id} at ${flow.provider}, client ${flow.client_id}, ${who}`];
  for (const [step, news] of stepsWithNews(flow)) {
    const since = (step.at - flow.began_at).toFixed(2);
    lines.push(`  +${since} s  ${step.leg.padEnd(9)} ${step.method} ${step.path} → ${step.status}`);
    lines.push(...remarks(step, news).map((line) => `             ${line}`));
  }
  return lines.join("\n");
}

/**
 * Return every step with those of its verdicts that differ from the previous ones.
 *
 * @param {Flow} flow
 * @returns {[Step, [string, Verdict][]][]}
 */
function stepsWithNews(flow) {
  /** @type {Map<string, string>} */
  const known = new Map();
  return flow.steps.map((step) => {
    const news = Object.entries(step.verdicts).filter(([name, { mark, words }]) => {
      const isNew = known.get(name) !== `${mark} ${words}`;
      known.set(name, `${mark} ${words}`);
      return isNew;
    });
    return [step, news];
  });
}

/**
 * Return the remarks on a step: faults, then its note, then the verdicts, those that are not good first.
 *
 * @param {Step} step
 * @param {[string, Verdict][]} news
 */
function remarks(step, news) {
  const inOrder = news.toSorted(([, a], [, b]) => Number(a.mark === "good") - Number(b.mark === "good"));
  return [
    ...(step.faults.length ? [`fault: ${step.faults.join(", ")}`] : []),
    ...(step.note ? [step.note] : []),
    ...inOrder.map(([name, verdict]) => `${name} ${verdict.mark}: ${verdict.words}`),
  ];
}

/**
 * Convert an error response into a `LabError`, even if it did not come from a lab.
 *
 * @param {string} request
 * @param {number} status
 * @param {string} text
 */
function refusal(request, status, text) {
  const asked = `${request} was answered with ${status}`;
  try {
    const { code, message } = JSON.parse(text).error;
    return new LabError(status, code, `${asked}: ${message}`);
  } catch {
    const hint = status === 404 ? " (Is the lab on, and is this its address?)" : "";
    return new LabError(status, `http_${status}`, `${asked}: ${text.slice(0, 2000)}${hint}`);
  }
}

/** @param {string} text */
function segment(text) {
  return encodeURIComponent(text);
}
