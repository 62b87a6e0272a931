/** The client of the fake's lab, with the words of the one in Python. What goes over the wire keeps its names. */

export type Leg = "discovery" | "keys" | "authorize" | "consent" | "code" | "token" | "profile" | "revoke";
export type Mark = "good" | "absent" | "wrong" | "odd";

/** An application registered at one provider. Without a secret it is a public one, which must use PKCE. */
export interface Client {
  provider: string;
  client_id: string;
  client_secret?: string;
  name?: string;
  kind?: "web" | "desktop";
  redirect_uris: string[];
  any_loopback?: boolean;
  any_secret?: boolean;
  remember_approval?: boolean;
  team_id?: string;
  key_id?: string;
  public_key?: string | object;
  request_email?: boolean;
}

/** A person with an account of the same `id` at every provider. */
export interface Person {
  id: string;
  name?: string | null;
  username?: string;
  email?: string | null;
  email_verified?: boolean;
  later_email?: string | null;
  hosted_domain?: string | null;
  picture?: boolean;
  note?: string;
  subjects?: Record<string, string>;
  claims?: Record<string, unknown>;
}

/** Whom a fault is for: everything given must match. Nothing given: everyone. */
export interface Scope {
  provider?: string | null;
  account?: string | null;
  client_id?: string | null;
  flow?: string | null;
  state?: string | null;
  login_hint?: string | null;
  cookie?: string | null;
}

/** How often a fault acts (1 unless told otherwise; null: until it is disarmed), and the options of that fault. */
export interface Options {
  times?: number | null;
  [option: string]: unknown;
}

/** An armed order, and how often it was met. */
export interface Rule {
  id: string;
  fault: string;
  scope: Scope;
  times: number | null;
  with: Record<string, unknown>;
  armed_at: number;
  hits: number;
}

export interface OptionInfo {
  name: string;
  summary: string;
  default: unknown;
}

/** A fault as the catalogue shows it. */
export interface FaultInfo {
  name: string;
  legs: Leg[];
  summary: string;
  options: OptionInfo[];
}

/** What is to be said of one protection: a mark, and why in words. */
export interface Verdict {
  mark: Mark;
  words: string;
}

/** One leg of a flow as it happened; `at` is in seconds, `faults` are those that bent it. */
export interface Step {
  leg: Leg;
  at: number;
  method: string;
  path: string;
  status: number;
  verdicts: Record<string, Verdict>;
  faults: string[];
  note: string;
}

/** One authorization attempt. */
export interface Flow {
  id: string;
  provider: string;
  client_id: string;
  began_at: number;
  state: string | null;
  login_hint: string | null;
  cookie: string | null;
  account: string | null;
  steps: Step[];
}

/** One request and the status of its answer; secrets, codes and tokens are fingerprints. */
export interface Entry {
  number: number;
  at: number;
  provider: string;
  method: string;
  path: string;
  query: Record<string, string>;
  form: Record<string, string>;
  headers: Record<string, string>;
  authorization: string;
  client_id: string;
  status: number;
  flow: string | null;
  leg: Leg | null;
}

/** What entries are looked for: newer than `after`, and everything given matches; `path` is a beginning. */
export interface Wanted {
  after?: number;
  provider?: string | null;
  path?: string;
  method?: string | null;
  status?: number | null;
  client_id?: string | null;
  flow?: string | null;
  leg?: Leg | null;
}

/** Where a provider is, for browsers and for servers, and the issuer it signs as. */
export interface Place {
  browser_url: string;
  server_url: string;
  issuer: string;
}

/** A behaviour that may be either way, and how it stands. */
export interface SwitchShown {
  key: string;
  on: boolean;
  default: boolean;
  summary: string;
}

/** A provider's published signing keys as JWKs, newest first, and the one it signs with. */
export interface Keys {
  kid: string;
  keys: Record<string, string>[];
}

/** Everything there is: applications without their secrets, numbers of people, flows and requests. */
export interface Overview {
  now: number;
  providers: Record<string, Place>;
  clients: Client[];
  people: number;
  flows: number;
  requests: number;
  auto_approve: string | null;
  rules: Rule[];
  faults: FaultInfo[];
  switches: SwitchShown[];
}

/** The cookie by which a browser context marks its flows. */
export const FLOW_COOKIE: "chatkey_flow";

/** The lab refused. `status` and `code` say how; the message names the request and the member at fault. */
export class LabError extends Error {
  constructor(status: number, code: string, message: string);
  status: number;
  code: string;
}

/** A fault was armed and never met, so that whatever was to be shown with it was not shown. */
export class FaultNotHit extends Error {
  constructor(rule: Rule);
  rule: Rule;
}

/** The lab of one running fake. Every method rejects with `LabError` when the lab refuses. */
export class FakeOAuth {
  /** `token` is what a lab with CHATKEY_LAB_TOKEN asks for. */
  constructor(url: string, options?: { token?: string });

  /** The fake's base address. */
  url: string;

  /** Everything there is, the catalogue of faults among it. */
  overview(): Promise<Overview>;
  /** The fake's time, seconds since the epoch. */
  now(): Promise<number>;
  /** Move the fake's clock; its new time. */
  advance(seconds: number): Promise<number>;
  /** Return to the state after the start: clients, people, clock; no faults, flows, codes and tokens. */
  reset(): Promise<void>;

  /** The registered applications, without their secrets. */
  clients(): Promise<Client[]>;
  /** Register an application, or replace the one of the same id. */
  addClient(provider: string, client: Omit<Client, "provider">): Promise<Client>;
  /** Forget an application. */
  removeClient(provider: string, clientId: string): Promise<void>;
  /** Everyone who can sign in. */
  people(): Promise<Person[]>;
  /** Add a person, or replace the one of the same id. */
  putPerson(person: Person): Promise<Person>;
  /** Forget a person; what they were given stops working. */
  removePerson(personId: string): Promise<void>;

  /** Every fault that can be armed, with its options. */
  catalogue(): Promise<FaultInfo[]>;
  /** Arm a fault for a scope. */
  arm(fault: string, scope?: Scope, options?: Options): Promise<Rule>;
  /** Take a rule away; the rule with its hits. */
  disarm(ruleId: string): Promise<Rule>;
  /** The armed rules with their hits, spent ones among them. */
  rules(): Promise<Rule[]>;
  /** Arm a fault for the length of a block. Rejects with `FaultNotHit` at its end when the fault was never met. */
  misbehave<T>(fault: string, scope: Scope, options: Options, block: (rule: Rule) => T | Promise<T>): Promise<T>;

  /** The flows of a scope, the newest first. */
  flows(scope?: Scope): Promise<Flow[]>;
  /** One flow with its timeline. */
  flow(flowId: string): Promise<Flow>;
  /** The timeline of a flow as text. */
  timeline(flowId: string): Promise<string>;
  /** The address at which a person sees the timeline of a flow. */
  pageOf(flowId: string): string;
  /** What was received and matches; with `wait`, stay up to so many seconds, 30 at most, until anything does. */
  requests(wanted?: Wanted & { wait?: number }): Promise<Entry[]>;

  /** Let a provider sign with a new key; the former ones stay published. */
  rotateKeys(provider: string): Promise<Keys>;
  /** The behaviours that may be either way, and how they stand. */
  switches(): Promise<SwitchShown[]>;
  /** Set one of them, such as `discord.iss`. */
  switch(key: string, on: boolean): Promise<SwitchShown>;
  /** Let an account approve every request at once; null: the consent page asks again. */
  autoApprove(account: string | null): Promise<void>;
}

/** The timeline of a flow as text: one line for the flow, one for each step, below it what is to be said of it. */
export function timelineText(flow: Flow): string;
