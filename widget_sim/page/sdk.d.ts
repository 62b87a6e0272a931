// TypeScript declarations of what sdk.js adds to a page. Save this file beside your sources, or refer to it with
// `/// <reference path="./sdk.d.ts" />`. Times are in seconds since the epoch unless stated otherwise.

declare namespace chatkey {
  /** The configuration of your page: `window.ServiceConfig`, or the argument of `initService()`. */
  interface Config {
    /** The id that you received together with the `secret_key`. The secret stays on your server. */
    providerId: string;
    /** Asks your backend for a token. Omit it if your page has only visitors. */
    getToken?: GetToken | null;
    /** A language tag such as `de` or `en-GB`. Default: the business's setting, or the browser's language. */
    locale?: string | null;
  }

  /** Returns a token, or null if nobody is signed in. Throws only if your backend failed. Settles within 10 seconds. */
  type GetToken = (request: TokenRequest) => string | null | Promise<string | null>;

  interface TokenRequest {
    /** The thumbprint of the key. Your backend copies it to `cnf.jkt` of the token. */
    readonly jkt: string;
    /**
     * Why a token is needed: there is none yet (`load`), it expires soon (`renew`), you called `refreshIdentity()`
     * (`refresh`), or the last one was refused (`rejected`).
     */
    readonly reason: "load" | "renew" | "refresh" | "rejected";
    /** 1 for the first attempt, plus one for each failure in a row. */
    readonly attempt: number;
    /** Aborts when the result is no longer needed. */
    readonly signal: AbortSignal;
  }

  type Identity = "visitor" | "member";

  /** The current visitor or member. */
  interface Person {
    readonly identity: Identity;
    readonly uid: string;
    readonly name: string | null;
    readonly avatar: string | null;
  }

  /** The detail of the event `error`, and the reason with which `ready` is rejected. */
  interface Problem {
    readonly code: ErrorCode;
    readonly phase: "start" | "key" | "configuration" | "token" | "getToken" | "socket" | "oauth" | "chat";
    readonly message: string;
    readonly remediation: string;
    readonly retryable: boolean;
  }

  interface Handle {
    /** Resolves when the widget has connected for the first time. */
    readonly ready: Promise<Events["ready"]>;
    /** The current visitor or member; null before the widget has connected. */
    readonly identity: Person | null;
    /** Add a listener for an event, or for all events with `"*"`. */
    on<Name extends keyof Events>(name: Name, listener: Listener<Name>): this;
    on(name: "*", listener: Listener<keyof Events>): this;
    /** Remove a listener. */
    off<Name extends keyof Events>(name: Name, listener: Listener<Name>): this;
    off(name: "*", listener: Listener<keyof Events>): this;
    /** End the member's session in all tabs. */
    logout(): Promise<void>;
    /** Call `getToken` now: the page's user may have changed. With `force`, first log the member out in all tabs. */
    refreshIdentity(options?: { force?: boolean }): Promise<void>;
    /** Show the panel. */
    open(): Promise<void>;
    /** Hide the panel. */
    close(): Promise<void>;
    /** Remove the widget from the page. You can call `initService()` again afterwards. */
    shutdown(): void;
    /** Return the state of the widget. It contains no secrets, so you can paste it into a ticket. */
    debug(): Debug;
    /** Call functions with this handle at once. Before the script loads, an array named `Service` collects them. */
    push(...callbacks: Callback[]): void;
  }

  type Callback = (service: Handle) => void;
  type Listener<Name extends keyof Events> = (detail: Events[Name], name: Name) => void;

  /** Every event, with its detail. */
  interface Events {
    /** The widget has connected for the first time. */
    ready: { readonly identity: Identity; readonly uid: string };
    /** Something went wrong. The detail says what to do. */
    error: Problem;
    /** Something is unusual: the page's clock is wrong by `seconds`, or a token is valid for only `seconds`. */
    warning: { readonly code: "clock_skew" | "short_lifetime"; readonly seconds: number };
    /** The current visitor or member has changed. */
    "identity:changed": Person;
    /** The member has logged out, in another tab if `heard` is true. */
    logout: { readonly heard: boolean };
    /** The widget was removed from the page. */
    shutdown: Nothing;
    /** The widget starts without the snapshot, which takes seconds longer. */
    "boot:fallback": { readonly message: string };
    /** The business's configuration was loaded, or loaded again because it has changed. */
    "configuration:loaded": { readonly socials: readonly string[] };
    /** The connection key is ready. */
    "key:ready": { readonly jkt: string; readonly uid: string };
    /** The stored key could not be used and was replaced with a new one. */
    "key:lost": { readonly reason: string };
    /** The browser stores nothing: a key or a token is only in memory. */
    "storage:degraded": { readonly what: "key" | "token"; readonly reason: string };
    /** `getToken` was called. */
    "token:requested": { readonly reason: TokenRequest["reason"]; readonly attempt: number };
    /** `getToken` returned a valid token. */
    "token:received": { readonly uid: string; readonly expires_at: number };
    /** `getToken` returned null: nobody is signed in. */
    "token:none": Nothing;
    /** The cached token is valid and is used. */
    "token:reused": { readonly uid: string; readonly expires_at: number };
    /** The widget uses a token that another tab received. */
    "token:adopted": { readonly uid: string; readonly expires_at: number };
    /** The cached token cannot be used. */
    "token:unusable": { readonly code: ErrorCode; readonly message: string };
    /** The cached token was deleted. */
    "token:dropped": { readonly reason: string };
    /** A token with these claims was used to open or refresh a socket. */
    "token:used": {
      readonly type: "visitor" | "user";
      readonly uid: string;
      readonly expires_at: number;
      readonly claims: Members;
    };
    /** The server has accepted a newer token. */
    "token:refreshed": { readonly expires_at: number };
    /** The server requires a newer token before the deadline. */
    "token:reauth": { readonly deadline: number };
    /** The widget opens a socket. */
    "socket:opening": { readonly uri: string };
    /** The socket is open, but the widget has not identified itself yet. */
    "socket:open": Nothing;
    /** The proof of possession of the key was signed. */
    "socket:proof": { readonly header: Members; readonly claims: Members };
    /** The socket is connected. */
    "socket:ready": { readonly identity: Identity; readonly uid: string; readonly expires_at: number };
    /** The socket was closed by the server or the network. */
    "socket:closed": { readonly code: number; readonly reason: ErrorCode | null };
    /** The widget has given up a socket. */
    "socket:lost": { readonly why: "timeout" | "mute" | "unreadable" | "jump" };
    /** The widget will open a new socket after `seconds`. */
    "socket:waiting": { readonly seconds: number; readonly attempt: number };
    /** The person has pressed a social button. */
    "oauth:started": { readonly social: string };
    /** The window shows the social provider. */
    "oauth:opened": { readonly social: string };
    /** The person is signed in. */
    "oauth:completed": { readonly social: string; readonly uid: string };
    /** The sign-in failed; an `error` event has the details. */
    "oauth:failed": { readonly social: string; readonly code: ErrorCode };
    /** A message was sent. */
    "message:sent": { readonly id: string };
    /** The server has stored the message. */
    "message:acknowledged": { readonly id: string };
    /** A message has arrived. */
    "message:received": { readonly id: string; readonly sender: "customer" | "agent" };
    /** The history has changed: `count` messages are loaded now. */
    "message:history": { readonly count: number };
    /** The call is ringing, has begun, or has ended. */
    "call:changed": { readonly state: "ringing" | "active" | "ended" };
    /** The widget has made the proof that binds the sound of the call to this browser's key. */
    "call:proof": { readonly header: object; readonly claims: object };
    /** The service has verified the proof, and the microphone is in the call. */
    "call:verified": { readonly call_id: string };
    /** The sound is connected or interrupted, may not be played before a click, or has lost its microphone. */
    "call:sound": { readonly state: "connected" | "interrupted" | "silent" | "microphone_lost" };
  }

  type Members = { readonly [name: string]: unknown };
  type Nothing = { readonly [name: string]: never };

  /** Contains no token, usable proof, name, address or message. The widget's members exist once Python runs. */
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
      /** The browser functions that the page has replaced. */
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
    /** The seconds left, by name of the timer. */
    readonly timers: { readonly [name: string]: number };
    /** How often each event was emitted. */
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

  /** The meaning of each code, and what to do about it, is in docs/codes.md. */
  type ErrorCode =
    // codes
    | "already_initialized"
    | "auth_timeout"
    | "boot_failed"
    | "browser_unsupported"
    | "call_busy"
    | "call_local_network"
    | "call_lost"
    | "call_taken"
    | "call_unanswered"
    | "call_unconnected"
    | "call_unknown"
    | "call_unsafe"
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
    | "key_timeout"
    | "key_unavailable"
    | "local_network_blocked"
    | "media_type_unsupported"
    | "message_dropped"
    | "message_refused"
    | "method_not_allowed"
    | "microphone_busy"
    | "microphone_denied"
    | "microphone_dismissed"
    | "microphone_lost"
    | "microphone_missing"
    | "microphone_unavailable"
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
    | "proof_call"
    | "proof_claims"
    | "proof_fingerprint"
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

/** Exists once sdk.js has run. Until then, use `window.Service`. */
declare const Service: chatkey.Handle;

/** Start the widget if there is no `ServiceConfig`. Further calls return the same handle. */
declare function initService(config: chatkey.Config): chatkey.Handle;

interface Window {
  ServiceConfig?: chatkey.Config;
  /** Use it before or after the script loads: `(window.Service ??= []).push((service) => service.on("ready", …))`. */
  Service?: chatkey.Handle | chatkey.Callback[];
}

interface DocumentEventMap {
  "service:ready": CustomEvent<chatkey.Events["ready"]>;
  "service:error": CustomEvent<chatkey.Problem>;
}
