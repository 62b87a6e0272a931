// What sdk.js puts on a page, for TypeScript: save this file beside your sources, or refer to it by
// `/// <reference path="./sdk.d.ts" />`. Times are in seconds since the epoch unless something else is said.

declare namespace chatkey {
  /** Your page's wishes: `window.ServiceConfig`, or the argument of `initService()`. */
  interface Config {
    /** Given to you with the `secret_key`, which stays on your server. */
    providerId: string;
    /** Asks your backend for a token; leave it out where visitors are all there are. */
    getToken?: GetToken | null;
    /** A language tag such as `de` or `en-GB`; without it the business's setting counts, then the browser's. */
    locale?: string | null;
  }

  /** Returns a token, or null when nobody is signed in; throws only if your backend failed. It has 10 seconds. */
  type GetToken = (request: TokenRequest) => string | null | Promise<string | null>;

  interface TokenRequest {
    /** The key's thumbprint, which goes into `cnf.jkt` of the token. */
    readonly jkt: string;
    /** No token yet, the token ends soon, you asked by `refreshIdentity()`, or the last one was refused. */
    readonly reason: "load" | "renew" | "refresh" | "rejected";
    /** 1, and one more for each failure in a row. */
    readonly attempt: number;
    /** Fires when the answer is no longer wanted. */
    readonly signal: AbortSignal;
  }

  type Identity = "visitor" | "member";

  /** Who the widget is. */
  interface Person {
    readonly identity: Identity;
    readonly uid: string;
    readonly name: string | null;
    readonly avatar: string | null;
  }

  /** What the event `error` tells, and `ready` is rejected with. */
  interface Problem {
    readonly code: ErrorCode;
    readonly phase: "start" | "key" | "configuration" | "token" | "getToken" | "socket" | "oauth" | "chat";
    readonly message: string;
    readonly remediation: string;
    readonly retryable: boolean;
  }

  interface Handle {
    /** A promise of the first connection. */
    readonly ready: Promise<Events["ready"]>;
    /** Who the widget is; null before it has connected. */
    readonly identity: Person | null;
    /** Listen to an event, or to all as `"*"`. */
    on<Name extends keyof Events>(name: Name, listener: Listener<Name>): this;
    on(name: "*", listener: Listener<keyof Events>): this;
    /** Listen no more. */
    off<Name extends keyof Events>(name: Name, listener: Listener<Name>): this;
    off(name: "*", listener: Listener<keyof Events>): this;
    /** End the member session, in all tabs. */
    logout(): Promise<void>;
    /** Ask `getToken` now: your user may be another one. With `force`, whoever is here leaves before, in all tabs. */
    refreshIdentity(options?: { force?: boolean }): Promise<void>;
    /** Show the panel. */
    open(): Promise<void>;
    /** Hide the panel. */
    close(): Promise<void>;
    /** End the widget; `initService()` may be called again. */
    shutdown(): void;
    /** What is going on, safe to be pasted into a ticket. */
    debug(): Debug;
    /** Call functions with this handle, at once; before the script is there, an array named `Service` keeps them for it. */
    push(...callbacks: Callback[]): void;
  }

  type Callback = (service: Handle) => void;
  type Listener<Name extends keyof Events> = (detail: Events[Name], name: Name) => void;

  /** Every event, with its detail. */
  interface Events {
    /** Connected for the first time. */
    ready: { readonly identity: Identity; readonly uid: string };
    /** Something went wrong, and what to do about it. */
    error: Problem;
    /** Something is odd: the page's clock is off by `seconds`, or a token lives only for `seconds`. */
    warning: { readonly code: "clock_skew" | "short_lifetime"; readonly seconds: number };
    /** The widget is somebody else now. */
    "identity:changed": Person;
    /** The member logged out; `heard`: in another tab. */
    logout: { readonly heard: boolean };
    /** The widget is gone from the page. */
    shutdown: Nothing;
    /** Started without the snapshot, which takes seconds longer. */
    "boot:fallback": { readonly message: string };
    /** What the business set came; again when it changed. */
    "configuration:loaded": { readonly socials: readonly string[] };
    /** The connection key is there. */
    "key:ready": { readonly jkt: string; readonly uid: string };
    /** The stored key could not be used, and there is a new one. */
    "key:lost": { readonly reason: string };
    /** The browser keeps nothing: a key, or a token, is in memory only. */
    "storage:degraded": { readonly what: "key" | "token"; readonly reason: string };
    /** `getToken` is called. */
    "token:requested": { readonly reason: TokenRequest["reason"]; readonly attempt: number };
    /** `getToken` brought a token that is good. */
    "token:received": { readonly uid: string; readonly expires_at: number };
    /** `getToken` says that nobody is signed in. */
    "token:none": Nothing;
    /** The token in the cache is good. */
    "token:reused": { readonly uid: string; readonly expires_at: number };
    /** Another tab brought a token. */
    "token:adopted": { readonly uid: string; readonly expires_at: number };
    /** What was in the cache is no use. */
    "token:unusable": { readonly code: ErrorCode; readonly message: string };
    /** The token was deleted. */
    "token:dropped": { readonly reason: string };
    /** A socket is opened, or refreshed, with a token that has these claims. */
    "token:used": {
      readonly type: "visitor" | "user";
      readonly uid: string;
      readonly expires_at: number;
      readonly claims: Members;
    };
    /** The server took over a newer token. */
    "token:refreshed": { readonly expires_at: number };
    /** The server asks for a newer token until then. */
    "token:reauth": { readonly deadline: number };
    /** A socket is opened. */
    "socket:opening": { readonly uri: string };
    /** It is open; nobody is connected yet. */
    "socket:open": Nothing;
    /** The proof that the key is here was signed. */
    "socket:proof": { readonly header: Members; readonly claims: Members };
    /** Connected. */
    "socket:ready": { readonly identity: Identity; readonly uid: string; readonly expires_at: number };
    /** Closed by the server, or the network. */
    "socket:closed": { readonly code: number; readonly reason: ErrorCode | null };
    /** Given up by the widget. */
    "socket:lost": { readonly why: "timeout" | "mute" | "unreadable" | "jump" };
    /** Opened again after so many seconds. */
    "socket:waiting": { readonly seconds: number; readonly attempt: number };
    /** The person pressed a social button. */
    "oauth:started": { readonly social: string };
    /** The provider is in the window. */
    "oauth:opened": { readonly social: string };
    /** The person is signed in. */
    "oauth:completed": { readonly social: string; readonly uid: string };
    /** The person is not signed in; an `error` says more. */
    "oauth:failed": { readonly social: string; readonly code: ErrorCode };
    /** A message went out. */
    "message:sent": { readonly id: string };
    /** The server has it. */
    "message:acknowledged": { readonly id: string };
    /** A message came. */
    "message:received": { readonly id: string; readonly sender: "customer" | "agent" };
    /** So many messages are there now. */
    "message:history": { readonly count: number };
    /** The call rings, is on, or is over. */
    "call:changed": { readonly state: "ringing" | "active" | "ended" };
  }

  type Members = { readonly [name: string]: unknown };
  type Nothing = { readonly [name: string]: never };

  /** No token, no proof, no name, no address and no message is in it. The widget's part is there once Python runs. */
  interface Debug extends Partial<WidgetDebug> {
    readonly version: string;
    readonly browser: {
      readonly framed: boolean;
      readonly isolated: boolean;
      readonly languages: readonly string[];
      readonly online: boolean;
      readonly origin: string;
      readonly secure: boolean;
      readonly userAgent: string;
      readonly visibility: DocumentVisibilityState;
      readonly width: number;
    };
    readonly boot: {
      readonly state: "idle" | "starting" | "running" | "failed";
      readonly from: "snapshot" | "sources" | null;
      readonly milliseconds: number | null;
      readonly error: Problem | null;
      /** Functions of the browser that the page has replaced. */
      readonly replaced: readonly string[];
    };
  }

  interface WidgetDebug {
    readonly provider_id: string;
    readonly stage: "idle" | "loading" | "opening" | "greeting" | "proving" | "ready" | "waiting" | "stopped";
    readonly identity: Identity | null;
    readonly uid: string | null;
    readonly visitor_uid: string | null;
    readonly jkt: string | null;
    readonly claims: Members | null;
    readonly proof: { readonly header: Members; readonly claims: Members } | null;
    readonly storage: "kept" | "degraded";
    readonly cached_token: boolean;
    readonly signing_in: string | null;
    readonly clock_offset: number | null;
    readonly panel: { readonly open: boolean; readonly page: "chat" | "search" | "sign-in"; readonly locale: string };
    /** Seconds left, by the timer's name. */
    readonly timers: { readonly [name: string]: number };
    /** How often each event was told. */
    readonly counters: { readonly [Name in keyof Events]?: number };
    /** The last errors and warnings. */
    readonly troubles: readonly Told[];
    /** The last events. */
    readonly events: readonly Told[];
  }

  interface Told {
    readonly at: number;
    readonly name: keyof Events;
    readonly detail: Members;
  }

  /** docs/codes.md says of each what it means, and what to do. */
  type ErrorCode =
    // codes
    | "already_initialized"
    | "auth_timeout"
    | "boot_failed"
    | "call_unknown"
    | "config_invalid"
    | "configuration_unreachable"
    | "csp_blocked"
    | "frame_invalid"
    | "frame_timeout"
    | "frame_too_large"
    | "frame_unexpected"
    | "frame_unreadable"
    | "gettoken_failed"
    | "gettoken_timeout"
    | "identity_changed"
    | "idle_timeout"
    | "insecure_context"
    | "insecure_origin"
    | "internal"
    | "key_unavailable"
    | "media_type_unsupported"
    | "message_dropped"
    | "message_refused"
    | "method_not_allowed"
    | "not_found"
    | "oauth_denied"
    | "oauth_failed"
    | "origin_not_allowed"
    | "parameter_invalid"
    | "parameter_missing"
    | "parameter_repeated"
    | "popup_blocked"
    | "popup_closed"
    | "popup_lost"
    | "popup_unsupported"
    | "proof_alg"
    | "proof_ath"
    | "proof_binding_missing"
    | "proof_claims"
    | "proof_htm"
    | "proof_htu"
    | "proof_jwk"
    | "proof_key_mismatch"
    | "proof_malformed"
    | "proof_nonce"
    | "proof_signature"
    | "proof_typ"
    | "provider_off"
    | "provider_unknown"
    | "rate_limited"
    | "restarting"
    | "shutdown"
    | "sign_in_required"
    | "social_disabled"
    | "social_unknown"
    | "socket_refused"
    | "socket_unreachable"
    | "state_expired"
    | "state_invalid"
    | "state_used"
    | "token_alg"
    | "token_claims"
    | "token_empty"
    | "token_expired"
    | "token_header"
    | "token_key_mismatch"
    | "token_malformed"
    | "token_not_yet_valid"
    | "token_provider"
    | "token_revoked"
    | "token_signature"
    | "token_too_large"
    | "token_type"
    | "token_unreachable"
    | "token_wrong_type"
    | "too_large"
    | "too_many_sockets"
    | "unavailable"
    | "widget_failed";
  // end
}

/** There once sdk.js has run; until then, use `window.Service`. */
declare const Service: chatkey.Handle;

/** Start the widget, where there is no `ServiceConfig`. Further calls return the same handle. */
declare function initService(config: chatkey.Config): chatkey.Handle;

interface Window {
  ServiceConfig?: chatkey.Config;
  /** Whichever comes first: `(window.Service ??= []).push((service) => { service.on("ready", …); })`. */
  Service?: chatkey.Handle | chatkey.Callback[];
}

interface DocumentEventMap {
  "service:ready": CustomEvent<chatkey.Events["ready"]>;
  "service:error": CustomEvent<chatkey.Problem>;
}
