// @ts-check
/** Every code with its status and its close code, as docs/codes.md lists them, and how a refusal travels. */

/** @type {Record<string, [status: number, close: number]>} */
export const CODES = {
  parameter_missing: [400, 4400], parameter_invalid: [400, 4400], parameter_repeated: [400, 4400],
  not_found: [404, 4400], method_not_allowed: [405, 4400], media_type_unsupported: [415, 4400],
  too_large: [413, 1009], rate_limited: [429, 4429], unavailable: [503, 1013], internal: [500, 1013],
  provider_unknown: [404, 4403], provider_off: [403, 4403],
  social_unknown: [404, 4403], social_disabled: [404, 4403],
  insecure_origin: [403, 4403], origin_not_allowed: [403, 4403],
  token_malformed: [401, 4401], token_too_large: [401, 4401], token_header: [401, 4401], token_alg: [401, 4401],
  token_signature: [401, 4401], token_claims: [401, 4401], token_type: [401, 4401], token_provider: [401, 4401],
  token_expired: [401, 4419], token_not_yet_valid: [401, 4401], token_key_mismatch: [401, 4403],
  token_revoked: [401, 4403], proof_binding_missing: [401, 4403],
  proof_malformed: [401, 4403], proof_typ: [401, 4403], proof_alg: [401, 4403], proof_jwk: [401, 4403],
  proof_claims: [401, 4403], proof_signature: [401, 4403], proof_key_mismatch: [401, 4403],
  proof_nonce: [401, 4440], proof_htm: [401, 4403], proof_htu: [401, 4403], proof_ath: [401, 4403],
  frame_too_large: [413, 1009], frame_invalid: [400, 4400], frame_unexpected: [400, 4400],
  frame_timeout: [408, 4408], auth_timeout: [408, 4408], idle_timeout: [408, 4408],
  too_many_sockets: [429, 4429], identity_changed: [409, 4409], call_unknown: [404, 4400], call_taken: [409, 4400], call_busy: [409, 4400],
  proof_call: [401, 4403], proof_fingerprint: [401, 4403], restarting: [503, 1012],
  state_invalid: [400, 4403], state_expired: [400, 4403], state_used: [400, 4403],
  oauth_denied: [400, 4403], oauth_failed: [502, 1013],
};

const RETRYABLE = new Set([
  "auth_timeout", "idle_timeout", "internal", "oauth_denied", "oauth_failed", "proof_nonce", "rate_limited",
  "restarting", "too_many_sockets", "unavailable",
]);

/** Something that is refused: a code of the table, a sentence for people, and when the same may succeed. */
export class Refused extends Error {
  /** @param {string} code @param {string} message @param {number} [retryAfter] seconds */
  constructor(code, message, retryAfter) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  get status() {
    return CODES[this.code][0];
  }

  get close() {
    return CODES[this.code][1];
  }

  /** The `error` frame. @param {string} [id] that of the frame it answers */
  frame(id) {
    return {
      type: "error",
      code: this.code,
      message: this.message,
      retryable: RETRYABLE.has(this.code),
      ...(this.retryAfter === undefined ? {} : { retry_after: this.retryAfter }),
      ...(id === undefined ? {} : { id }),
    };
  }
}
