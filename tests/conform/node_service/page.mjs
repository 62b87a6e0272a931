// @ts-check
/** The page of the popup: it posts one message to the page that opened it, and closes. */

import { randomBytes } from "node:crypto";

/**
 * @param {string} sentence for whoever sees it, in English
 * @param {object | null} message for the opener; null where nobody may be told
 * @param {string} origin the registered one
 * @returns {{body: string, headers: Record<string, string>}}
 */
export function popup(sentence, message, origin) {
  const nonce = randomBytes(16).toString("base64url");
  const script = message
    ? `<script nonce="${nonce}">
if (window.opener) { window.opener.postMessage(${inScript(message)}, ${inScript(origin)}); window.close(); }
</script>`
    : "";
  const body = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign in</title>
<main><h1>Sign in</h1><p>${inText(sentence)}</p><p>You can close this window.</p>
<noscript><p>Signing in needs JavaScript.</p></noscript></main>
${script}</html>
`;
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
  return {
    body,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy,
      "X-Frame-Options": "DENY",
      "Cache-Control": "no-store",
    },
  };
}

/** @param {unknown} value */
function inScript(value) {
  const escape = (/** @type {string} */ mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escape);
}

/** @param {string} text */
function inText(text) {
  return text.replace(/[<>&"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}
