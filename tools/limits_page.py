"""Writes docs/limits.md from the code: every size, rate and wait that a client needs to know, with the default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chatkey_protocol.frames import ENTRIES
from chatkey_server.identity import claims, oauth_state, proofs, tokens
from chatkey_server.peers.outbox import MAX_BACKLOG
from chatkey_server.public import oauth_callback, oauth_start, parameters
from chatkey_server.settings import SETTINGS, Setting
from chatkey_server.socket.connection import REAUTH_SECONDS

HEAD: Final = """\
The first table has the limits that are [settings](settings.md) of our service, with their defaults; another service
may have others. The second has fixed limits, which are part of [the profile](protocol.md). A client that exceeds a
limit gets the code in the last column and, for a rate, `Retry-After` (HTTP) or `retry_after` (socket).

A rate is an allowance that refills evenly and may be used up at once. It is counted per person or per client address;
IPv6 addresses with the same first 64 bits are one address.

Each process counts for itself. With Redis, all processes together count the limits that say so in their setting, and
the password guesses for agents and administrators (ten per minute from one client address). While Redis is down, each
process goes on from its own count. Quotas for messages are summed up a moment later, so each process may exceed them
by a message or two.

Next: [codes](codes.md).
"""

BEYOND: Final = {
    "head_bytes": "431, or 414 for the first line",
    "query_bytes": "400 `parameter_invalid`",
    "body_bytes": "413 `too_large`",
    "token_bytes": "`token_too_large`",
    "request_timeout": "closed",
    "token_rate": "429 `rate_limited`",
    "oauth_rate": "429 `rate_limited`",
    "frame_bytes": "1009, without an `error` frame",
    "message_chars": "`too_large` with the `id`",
    "name_chars": "`too_large` with the `id`",
    "frames_per_second": "4429 `rate_limited`",
    "auth_timeout": "4408 `auth_timeout`",
    "frame_timeout": "4408, without an `error` frame",
    "idle_timeout": "4408 `idle_timeout`",
    "pong_timeout": "1011, without an `error` frame",
    "ping": "sent in `hello`",
    "sockets_per_address": "4429 `too_many_sockets`",
    "sockets_per_identity": "4429 `too_many_sockets`",
    "search_chars": "`too_large` with the `id`",
    "ipv6_prefix": "",
    "log_lines": "one line with their number",
    **dict.fromkeys(
        (
            "searches_per_identity",
            "searches_per_address",
            "histories_per_identity",
            "histories_per_address",
            "messages_per_identity",
            "messages_per_address",
            "messages_per_provider",
            "kilobytes_per_identity",
            "kilobytes_per_address",
            "kilobytes_per_provider",
        ),
        "`rate_limited` with the `id`",
    ),
}
"""The result of exceeding each limit, by the name of its setting."""


def page(note: str) -> str:
    settings = (_row(setting) for setting in SETTINGS if setting.name.startswith("CHATKEY_LIMIT_"))
    return "\n".join(
        (
            f"# Limits\n\n{note}{HEAD}",
            *_table(("limit", "default", "if exceeded"), settings),
            "\n## Fixed limits\n",
            *_table(("limit", "maximum", "if exceeded"), map(_addressed, _fixed())),
            "",
        )
    )


def _row(setting: Setting) -> tuple[str, str, str]:
    linked = f"[`{setting.name}`](settings.md#{setting.name.lower()})"
    return linked, setting.default, BEYOND[setting.field]


def _addressed(row: tuple[str, str, str]) -> tuple[str, str, str]:
    """Give a fixed limit an address, such as `limits.md#characters-of-a-proof`."""
    address = re.sub(r"\W+", "-", row[0].lower()).strip("-")
    return f'<a id="{address}"></a>{row[0]}', *row[1:]


def _fixed() -> Iterator[tuple[str, str, str]]:
    yield "Parameters of a query or form.", str(parameters.MAX_PARAMETERS), "400 `parameter_invalid`"
    yield "Characters of the start's `origin`.", str(oauth_start.MAX_ORIGIN_CHARS), "400 `parameter_invalid`"
    yield "Characters of the start's `nonce`.", "64", "400 `parameter_invalid`"
    yield "Characters of a callback's `state`.", str(oauth_state.MAX_STATE_CHARS), "400 `state_invalid`"
    yield "Characters of a callback's `code`.", str(oauth_callback.MAX_CODE_CHARS), "400 `parameter_invalid`"
    yield "Seconds from a start to its callback.", str(oauth_state.LIFETIME_SECONDS), "400 `state_expired`"
    yield "Characters of a token's `uid`.", str(tokens.MAX_UID_CHARS), "`token_claims`"
    yield "Characters of a token's `name` and `email`.", "255", "`token_claims`"
    yield "Characters of a token's `avatar`.", "2048", "`token_claims`"
    yield "Seconds that a custom-login token is valid.", str(tokens.CUSTOM_MAX_LIFETIME), "`token_claims`"
    yield "Seconds that the socket token of a social login is valid.", str(tokens.SOCIAL_LIFETIME), "`token_claims`"
    yield "Seconds that a visitor's token is valid.", str(2 * tokens.MINUTE), "`token_claims`"
    yield "Seconds that an identity token is valid.", str(tokens.IDENTITY_LIFETIME), "`token_claims`"
    yield "Seconds that `iat` and `nbf` may be in the future.", str(claims.LEEWAY_SECONDS), "`token_not_yet_valid`"
    yield (
        "Nesting levels of JSON in a token, a proof or a frame.",
        "32",
        "`token_malformed`, `proof_malformed`, `frame_invalid`",
    )
    yield "Characters of a proof.", str(proofs.MAX_PROOF_BYTES), "`proof_malformed`"
    yield "Characters of a proof's `jti`, `nonce`, `ath`.", "256", "`proof_claims`"
    yield "Characters of a proof's `htu`.", "2048", "`proof_claims`"
    yield "Seconds between a `reauth` frame and the token's expiry.", str(REAUTH_SECONDS), "4419 at expiry"
    yield "Characters of a frame's `id`.", "64", "`frame_invalid`"
    yield "Messages in one response.", str(ENTRIES), "`frame_invalid` for a `limit` above it"
    yield "Frames that wait for a peer that does not read.", str(MAX_BACKLOG), "1013 `unavailable`"


def _table(head: tuple[str, ...], body: Iterator[tuple[str, ...]]) -> Iterator[str]:
    yield from (f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *body))
