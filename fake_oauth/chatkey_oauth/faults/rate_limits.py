"""How each provider says that there were too many requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.http import Answer, json_answer

if TYPE_CHECKING:
    from chatkey_oauth.engine.dialect import Dialect


def rate_limited(provider: Dialect, retry_after: int) -> Answer:
    """The refusal in the provider's shape; `retry_after` in seconds."""
    return SHAPES.get(provider.name, standard)(provider, retry_after)


def standard(_provider: Dialect, retry_after: int) -> Answer:
    """429 with `Retry-After` (RFC 6585 4)."""
    body = {"error": "rate_limit_exceeded", "error_description": f"Too many requests. Retry in {retry_after} seconds."}
    return json_answer(body, 429, (("retry-after", str(retry_after)),))


def google(_provider: Dialect, _: int) -> Answer:
    """Google's error object with 429, without saying when to come again."""
    message = "Quota exceeded for quota metric 'Requests' and limit 'Requests per minute'."
    return json_answer({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}}, 429)


def facebook(provider: Dialect, _: int) -> Answer:
    """Code 4 in an error object with status 400, and how much of the quota is used."""
    error = {
        "message": "(#4) Application request limit reached",
        "type": "OAuthException",
        "code": 4,
        "fbtrace_id": "A" + provider.alphanumeric(22),
    }
    usage = '{"call_count":100,"total_cputime":25,"total_time":25}'
    return json_answer({"error": error}, 400, (("x-app-usage", usage),))


def github(provider: Dialect, retry_after: int) -> Answer:
    """403, which only the message and the headers tell from other refusals."""
    headers = (
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", str(provider.now + retry_after)),
        ("x-ratelimit-used", "5000"),
        ("x-ratelimit-resource", "core"),
    )
    docs = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api"
    body = {"message": "API rate limit exceeded for user ID 1.", "documentation_url": docs, "status": "403"}
    return json_answer(body, 403, headers)


def gitlab(provider: Dialect, retry_after: int) -> Answer:
    """429 as plain text, with GitLab's `RateLimit-*` headers."""
    headers = (
        ("content-type", "text/plain"),
        ("retry-after", str(retry_after)),
        ("ratelimit-limit", "600"),
        ("ratelimit-observed", "601"),
        ("ratelimit-remaining", "0"),
        ("ratelimit-reset", str(provider.now + retry_after)),
    )
    return Answer(429, b"Retry later\n", headers)


def discord(provider: Dialect, retry_after: int) -> Answer:
    """429 with the wait in seconds and fractions in the body, and in whole seconds in `Retry-After`."""
    headers = (
        ("retry-after", str(retry_after)),
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", f"{provider.now + retry_after}.470"),
        ("x-ratelimit-reset-after", f"{retry_after}.470"),
        ("x-ratelimit-bucket", provider.hexadecimal(32)),
        ("x-ratelimit-scope", "user"),
    )
    body = {"message": "You are being rate limited.", "retry_after": retry_after + 0.47, "global": False}
    return json_answer(body, 429, headers)


def x(provider: Dialect, retry_after: int) -> Answer:
    """429 as a problem document, and when the window of 15 minutes ends in a header."""
    headers = (
        ("x-rate-limit-limit", "75"),
        ("x-rate-limit-remaining", "0"),
        ("x-rate-limit-reset", str(provider.now + retry_after)),
    )
    body = {"title": "Too Many Requests", "detail": "Too Many Requests", "type": "about:blank", "status": 429}
    return json_answer(body, 429, headers)


def tiktok(provider: Dialect, _: int) -> Answer:
    """429 with the error in the envelope that all of TikTok's answers have."""
    error = {
        "code": "rate_limit_exceeded",
        "message": "The API rate limit was exceeded. Please try again later.",
        "log_id": provider.hexadecimal(32).upper(),
    }
    return json_answer({"data": {}, "error": error}, 429)


SHAPES: Final[Mapping[str, Callable[[Dialect, int], Answer]]] = {
    "google": google,
    "facebook": facebook,
    "github": github,
    "gitlab": gitlab,
    "discord": discord,
    "x": x,
    "tiktok": tiktok,
}
