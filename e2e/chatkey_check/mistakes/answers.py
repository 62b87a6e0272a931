"""Explains why an answer is not a JSON object with the member `token`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from chatkey_check import reading
from chatkey_check.evidence.masks import JWT
from chatkey_check.exchange import MISSING, Exchange
from chatkey_check.shape import EXAMPLE_TOKEN


class Wrong(NamedTuple):
    """What is wrong, and a hint about what to change. Without a hint, the check's own hint is used."""

    message: str
    hint: str | None = None


UNASKED = frozenset({"br", "zstd", "compress"})
"""Content codings that this program does not accept. Browsers accept br and zstd over https only."""
GZIP = b"\x1f\x8b"
"""The first bytes of a gzip file."""
NOT_JSON = re.compile(r":\s*(NaN|-?Infinity)\b")
"""Numbers that Python's encoder writes, and no JSON parser of a browser reads."""
JSON_BEGINS = re.compile(r'\{\s*"token"')
BOT_WALLS = ("just a moment", "captcha", "challenge-platform", "are you human", "bot detection", "_incapsula_")
"""Texts in the pages with which bot protections answer programs."""
BOT_WALL = "Bot protection in front of the endpoint blocks this program. Add an exception for this program."


def wrong_with(answer: Exchange, *, of_member: bool = False) -> Wrong | None:
    """Return what is wrong with the form of an answer, or None. A member's null is wrong if the token is elsewhere."""
    path = answer.request.token_at
    if path != EXAMPLE_TOKEN:
        return _at_own_place(answer, path)
    try:
        body = answer.json
    except reading.Unreadable as unreadable:
        return _not_json(answer, unreadable.reason)
    if not isinstance(body, dict):
        what = "a JSON string" if isinstance(body, str) else reading.kind(body)
        return Wrong(f"The answer is {what}, not an object.")
    if "token" not in body or (of_member and body["token"] is None and _has_token(body)):
        return _elsewhere(body)
    return None


def _has_token(body: Mapping[str, object]) -> bool:
    """Return whether a member of the body, or of an object in it, is a token."""
    inner = [value for value in body.values() if isinstance(value, Mapping)]
    return any(isinstance(one, str) and JWT.match(one) for held in [body, *inner] for one in held.values())


def _at_own_place(answer: Exchange, path: tuple[str, ...]) -> Wrong | None:
    """Return what is wrong with an answer whose token has another place than in the contract's example."""
    member = answer.member
    errors = _errors(answer)
    if errors and not isinstance(member, str):
        hint = "Answer with null at the place of the token, without an error, because it is no error to be logged out."
        return Wrong(f"The answer is an error of GraphQL: {reading.shown(errors)}.", hint)
    if member is None or isinstance(member, str):
        return None
    where = f"at {'.'.join(path)}" if path else "in the answer, which should be the token itself"
    seen = "is nothing" if member is MISSING else f"is {reading.kind(member)}"
    return Wrong(f"There {seen} {where}.", "Check --token-at: it must be the path to the token in your answer.")


def _errors(answer: Exchange) -> object:
    """Return the errors of a GraphQL answer (its specification, 7.1), or None."""
    try:
        body = answer.json
    except reading.Unreadable:
        return None
    return body.get("errors") if isinstance(body, dict) and "data" in body else None


def _not_json(answer: Exchange, reason: str) -> Wrong:
    text = answer.text.strip()
    coding = ((answer.response.get("content-encoding") if answer.response else None) or "").strip().lower()
    if coding in UNASKED:
        hint = "Compress only with a coding that the request's Accept-Encoding names, or do not compress this answer."
        return Wrong(f"The answer is compressed with {coding}, which the request does not accept.", hint)
    if answer.response and answer.response.body.startswith(GZIP):
        hint = "Send Content-Encoding: gzip, or do not compress this answer."
        return Wrong("The answer is compressed with gzip, but Content-Encoding does not say so.", hint)
    if not text:
        return Wrong(f"The answer has status {answer.status} and no body.")
    if text.startswith("<") and any(sign in text.lower() for sign in BOT_WALLS):
        return Wrong("The answer is a page of a bot protection, not JSON.", BOT_WALL)
    around = _around(text)
    if around:
        return around
    if text.startswith("<"):
        return Wrong("The answer is HTML, not JSON.", "This may be a login page or an error page. " + HTML)
    if JWT.match(text):
        return Wrong("The answer is the bare token, not JSON.")
    if "\ufffd" in answer.text or "\0" in answer.text:
        return Wrong("The answer is not UTF-8.", "Encode the JSON in UTF-8: browsers read no other encoding.")
    if text.startswith(("{'", "{token")):
        return Wrong(
            "The answer looks like JSON, but is not valid JSON.",
            "Encode the answer with your JSON library, not with str().",
        )
    if text.startswith("{"):
        return _almost(text, reason)
    return Wrong(f"The answer is not JSON: {reason}.")


def _around(text: str) -> Wrong | None:
    """Return the message about text before or after the JSON, or None. A page with JSON in it has both."""
    begin = JSON_BEGINS.search(text)
    if begin is None:
        return None
    try:
        _, end = json.JSONDecoder().raw_decode(text, begin.start())
    except (ValueError, RecursionError):
        return None
    if end == len(text) and not begin.start():
        return None  # Python reads NaN, too
    if end == len(text):
        hint = "Remove it. It may be a warning, a log line, or a prefix such as `)]}'`, which browsers do not remove."
        return Wrong("The answer has other text before the JSON.", hint)
    if not begin.start():
        return Wrong("The answer has other text after the JSON.", "Remove it. It may be a warning or a debug bar.")
    return None


def _almost(text: str, reason: str) -> Wrong:
    if not text.endswith("}"):
        hint = "Content-Length may count characters instead of bytes, or the program stops while it writes the answer."
        return Wrong(f"The JSON of the answer is cut off: {reason}.", hint)
    number = NOT_JSON.search(text)
    if number:
        hint = "Send null in place of this number, or leave it out. In Python, json.dumps has allow_nan=False."
        return Wrong(f"The JSON of the answer contains {number[1]}, which JSON does not have.", hint)
    hint = "Encode the answer with your JSON library, not with a template."
    return Wrong(f"The answer looks like JSON, but is not valid JSON: {reason}.", hint)


HTML = "Return JSON in all cases: scripts call this endpoint."


def _elsewhere(body: Mapping[str, object]) -> Wrong:
    """Return a message that names the place where the answer contains the token."""
    for name, value in body.items():
        if isinstance(value, Mapping) and "token" in value:
            return Wrong(f"`token` is inside `{name}`, not at the top level.", 'Remove the wrapper: {"token": "…"}.')
        if isinstance(value, str) and '"token"' in value and value.lstrip().startswith("{"):
            what = f"The token is in the text `{name}`: the answer is an envelope of Lambda or another function."
            return Wrong(what, "Let the gateway unwrap the envelope (proxy integration), or return the body alone.")
        if (name.lower() == "token" and name != "token") or (isinstance(value, str) and JWT.match(value)):
            return Wrong(f"The token is in the member `{name}`, not `token`.", f"Rename `{name}` to `token`.")
    names = ", ".join(f"`{name}`" for name in list(body)[:5]) or "none"
    return Wrong(f"The answer has no member `token`. Its members: {names}.")
