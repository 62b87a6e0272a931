/** A client for the fake's lab, with the same names as the Python client. Data has the same names as on the wire. */

export type Leg = "discovery" | "keys" | "authorize" | "consent" | "code" | "token" | "profile" | "revoke";
export type Mark = "good" | "absent" | "wrong" | "odd";

/** An application that is registered at one provider. Without a secret it is a public client, which must use PKCE. */
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
  post_logout_redirect_uris?: string[];
  backchannel_logout_uri?: string;
  id_token_signed_response_alg?: "RS256" | "ES256";
  access_tokens?: "opaque" | "jwt";
  audience?: string;
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

/** The logins that a fault affects. All given members must match; without any, every login does. */
export interface Scope {
  provider?: string | null;
  account?: string | null;
  client_id?: string | null;
  flow?: string | null;
  state?: string | null;
  login_hint?: string | null;
  cookie?: string | null;
}

/** How often a fault acts (default: 1; null: until it is disarmed), and the fault's own options. */
export interface Options {
  times?: number | null;
  [option: string]: unknown;
}

/** An armed fault, with its number of hits. */
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

/** A fault's entry in the catalogue. */
export interface FaultInfo {
  name: string;
  legs: Leg[];
  summary: string;
  options: OptionInfo[];
}

/** The verdict on one protection: a mark, and the reason in words. */
export interface Verdict {
  mark: Mark;
  words: string;
}

/** One step of a flow. `at` is in seconds, and `faults` are the faults that changed the step. */
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

/** One request and the status of its response. Secrets, codes and tokens are replaced with fingerprints. */
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

/** A filter for entries: they are newer than `after`, and all given members match. `path` is a prefix. */
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

/** The addresses of a provider for browsers and for servers, and its issuer. */
export interface Place {
  browser_url: string;
  server_url: string;
  issuer: string;
}

/** A behaviour that can be on or off, with its current setting. */
export interface SessionShown {
  provider: string;
  sid: string;
  account: string;
  auth_time: number;
  clients: string[];
}

/** A logout token that was sent to an application. `result` is the status of the response, or why there is none. */
export interface Message {
  provider: string;
  client_id: string;
  uri: string;
  sid: string;
  at: number;
  result: string;
}

export interface SwitchShown {
  key: string;
  on: boolean;
  default: boolean;
  summary: string;
}

/** A provider's published signing keys as JWKs, newest first, and the `kid` of the key that it signs with. */
export interface Keys {
  kid: string;
  keys: Record<string, string>[];
}

/** An overview of everything: applications without their secrets, and the numbers of people, flows and requests. */
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

/** The cookie with which a browser context marks its flows. */
export const FLOW_COOKIE: "chatkey_flow";

/** The lab refused a request. `status` and `code` identify the error; the message names request and member. */
export class LabError extends Error {
  constructor(status: number, code: string, message: string);
  status: number;
  code: string;
}

/** A fault was armed but never acted, so the test did not exercise it. */
export class FaultNotHit extends Error {
  constructor(rule: Rule);
  rule: Rule;
}

/** A client for the lab of one running fake. Every method rejects with `LabError` if the lab refuses. */
export class FakeOAuth {
  /** `token` is the value of the fake's CHATKEY_LAB_TOKEN, if it has one. */
  constructor(url: string, options?: { token?: string });

  /** The fake's base address. */
  url: string;

  /** Return an overview of everything, including the catalogue of faults. */
  overview(): Promise<Overview>;
  /** Return the fake's time in seconds since the epoch. */
  now(): Promise<number>;
  /** Move the fake's clock, and return its new time. */
  advance(seconds: number): Promise<number>;
  /** Restore the initial clients, people and clock, and remove all faults, flows, codes and tokens. */
  reset(): Promise<void>;

  /** Return the registered applications without their secrets. */
  clients(): Promise<Client[]>;
  /** Register an application, or replace the one with the same id. */
  addClient(provider: string, client: Omit<Client, "provider">): Promise<Client>;
  /** Remove an application. */
  removeClient(provider: string, clientId: string): Promise<void>;
  /** Return everyone who can sign in. */
  people(): Promise<Person[]>;
  /** Add a person, or replace the one with the same id. */
  putPerson(person: Person): Promise<Person>;
  /** Remove a person. Their codes and tokens stop working. */
  removePerson(personId: string): Promise<void>;

  /** Return every fault with its options. */
  catalogue(): Promise<FaultInfo[]>;
  /** Arm a fault for a scope. */
  arm(fault: string, scope?: Scope, options?: Options): Promise<Rule>;
  /** Disarm a rule, and return it with its hits. */
  disarm(ruleId: string): Promise<Rule>;
  /** Return the armed rules with their hits, including spent ones. */
  rules(): Promise<Rule[]>;
  /** Arm a fault while `block` runs. Rejects with `FaultNotHit` if the fault did not act. */
  misbehave<T>(fault: string, scope: Scope, options: Options, block: (rule: Rule) => T | Promise<T>): Promise<T>;

  /** Issue tokens without a login. Without an account, they are for the application itself. */
  token(
    provider: string,
    clientId: string,
    account?: string | null,
    more?: { scopes?: string[]; nonce?: string; tenant?: string },
  ): Promise<Record<string, unknown>>;
  /** Return the browsers in which a person is signed in at a provider, newest first. */
  sessions(): Promise<SessionShown[]>;
  /** Return the logout tokens that were sent to applications, newest first, with the responses. */
  logouts(): Promise<Message[]>;
  /** Return the flows of a scope, newest first. */
  flows(scope?: Scope): Promise<Flow[]>;
  /** Return one flow with its timeline. */
  flow(flowId: string): Promise<Flow>;
  /** Return the timeline of a flow as text. */
  timeline(flowId: string): Promise<string>;
  /** Return the address of the page with a flow's timeline. */
  pageOf(flowId: string): string;
  /** Return the received requests that match. With `wait`, wait up to that many seconds (at most 30) for a match. */
  requests(wanted?: Wanted & { wait?: number }): Promise<Entry[]>;

  /** Let a provider sign with a new key. The earlier keys stay published. */
  rotateKeys(provider: string): Promise<Keys>;
  /** Return the switches and their settings. */
  switches(): Promise<SwitchShown[]>;
  /** Set a switch, such as `discord.iss`. */
  switch(key: string, on: boolean): Promise<SwitchShown>;
  /** Let an account approve every request automatically. With null, the consent page is shown again. */
  autoApprove(account: string | null): Promise<void>;
}

/** Return the timeline of a flow as text: a line for the flow, and a line for each step with its remarks below. */
export function timelineText(flow: Flow): string;
