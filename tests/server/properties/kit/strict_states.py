"""Judges the state of a social login (contract 5.7, D-05) without using the server's code."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from tests.server.properties.kit.strict_json import NotStrict, read_base64url
from tests.server.properties.kit.strict_tokens import Judgement


def judge(
    text: str, made: Sequence[tuple[bytes, str, int]], keys: Sequence[bytes], social: str, now: float
) -> Judgement:
    """Judge a state by comparing it with all states that were signed, because nobody else can make one.

    Each of these is (payload, social, time).
    """
    payload, _, mac = text.partition(".")
    try:
        raw, given = read_base64url(payload), read_base64url(mac)
    except NotStrict:
        return Judgement({"state_invalid"})
    if len(text) > 1024 or given not in {hmac.new(key, payload.encode(), hashlib.sha256).digest() for key in keys}:
        return Judgement({"state_invalid"})
    found = Judgement()
    for signed, for_social, made_at in made:
        if signed == raw:
            if for_social != social or made_at > now + 60:
                found.faults.add("state_invalid")
            if now >= made_at + 600:
                found.faults.add("state_expired")
            return found
    raise AssertionError("a state verifies that nobody signed")
