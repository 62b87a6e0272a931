"""Faults of any answer, whichever endpoint it comes from: late, never, broken, refused."""

from __future__ import annotations

from http.client import responses
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec.structs import replace

from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.http import Answer, encode, json_answer, text_answer
from chatkey_oauth.faults.bodies import is_json, json_object, subject_name, with_headers
from chatkey_oauth.faults.fault import ANYWHERE, BACK_CHANNEL, Fault, Where

if TYPE_CHECKING:
    from chatkey_oauth.faults.moment import Moment

Seconds = Annotated[float, msgspec.Meta(ge=0, le=600, description="How long it takes, in seconds.")]
ErrorStatus = Annotated[int, msgspec.Meta(ge=400, le=599, description="The status.")]
RetryAfter = Annotated[int, msgspec.Meta(ge=0, le=86400, description="When to come again, in seconds.")]
ContentType = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e ]{1,100}(?!\n)$", description="The content type.")]
Megabytes = Annotated[int, msgspec.Meta(ge=1, le=64, description="The size of the answer, in MB.")]
Address = Annotated[str, msgspec.Meta(pattern=r"^https?://[\x21-\x7e]{1,500}(?!\n)$", description="Where to.")]

BROKEN_JSON = b'{"error": "server_error", "error_descr'


class Slow(Fault):
    """The answer comes late."""

    name = "slow"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    seconds: Seconds = 3.0

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Hold the answer back for so many seconds."""
        return replace(answer, delay=self.seconds)


class Hang(Fault):
    """The answer never comes; the connection stays open until the other side gives up."""

    name = "hang"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Hold the answer back without end."""
        return replace(answer, delay=None)


class Reset(Fault):
    """The connection is reset instead of an answer; what was asked for has been done."""

    name = "reset"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Cut the connection before the first byte of the answer."""
        return replace(answer, cut="before")


class Truncated(Fault):
    """The connection ends in the midst of the answer, before as much has come as its length says."""

    name = "truncated"
    legs = ANYWHERE
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Cut the connection after half of the body; an answer without a body stays whole."""
        return replace(answer, cut="midway") if answer.body else None


class Status500(Fault):
    """The server fails with an HTML page, having done nothing of what was asked for; `status` may be another."""

    name = "status-500"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    status: ErrorStatus = 500

    def instead(self, at: Moment) -> Answer:
        """Return the HTML page of a server in trouble."""
        return error_page(self.status)


class Unavailable(Fault):
    """The server is down for maintenance: 503 with `Retry-After`."""

    name = "unavailable"
    legs = ANYWHERE
    leg: Where = Leg.TOKEN
    retry_after: RetryAfter = 30

    def instead(self, at: Moment) -> Answer:
        """Return the HTML page of a server in maintenance, which says when to come again."""
        return with_headers(error_page(503), ("retry-after", str(self.retry_after)))


class RateLimited(Fault):
    """Too many requests: the status, headers and body with which this provider says so."""

    name = "rate-limited"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    retry_after: RetryAfter = 30

    def instead(self, at: Moment) -> Answer:
        """Return the refusal in the provider's own shape."""
        return at.provider.rate_limited(self.retry_after)


class Redirected(Fault):
    """The answer is a redirect to another address, which must not be given the client's secret."""

    name = "redirected"
    legs = BACK_CHANNEL
    leg: Where = Leg.TOKEN
    to: Address = "http://127.0.0.1:9/elsewhere"

    def instead(self, at: Moment) -> Answer:
        """With 307, after which a client that follows would send its request there again."""
        return Answer(307, headers=(("location", self.to),))


class MalformedJson(Fault):
    """The answer says it is JSON and is half of it."""

    name = "malformed-json"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """The first half of what it would be, or of an error where that is no JSON."""
        body = answer.body[: len(answer.body) // 2] if is_json(answer) else BROKEN_JSON
        return with_headers(replace(answer, status=200, body=body), ("content-type", "application/json"))


class DuplicateMembers(Fault):
    """One member of the JSON comes twice, the second time with another value."""

    name = "duplicate-members"
    legs = (Leg.TOKEN, Leg.PROFILE)
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Repeat the access token of a token answer, or the subject of a profile."""
        members = json_object(answer)
        name = subject_name(members) if at.leg is Leg.PROFILE else "access_token"
        if name is None or name not in members:
            return None
        second = msgspec.json.encode({name: "another-value"})[1:]
        return replace(answer, body=msgspec.json.encode(members)[:-1] + b"," + second)


class EmptyAnswer(Fault):
    """Success without content."""

    name = "empty-answer"
    legs = BACK_CHANNEL
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Return 200 with the headers of the answer and no body."""
        return replace(answer, status=200, body=b"")


class HugeAnswer(Fault):
    """The answer is far larger than any real one."""

    name = "huge-answer"
    legs = BACK_CHANNEL
    leg: Where = Leg.TOKEN
    megabytes: Megabytes = 8

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Add a member of so many megabytes to those there are."""
        members = json_object(answer) | {"padding": "x" * self.megabytes * 1_000_000}
        return replace(answer, body=msgspec.json.encode(members))


class WrongContentType(Fault):
    """The answer is right, its content type is not: JSON as HTML, pages as a download."""

    name = "wrong-content-type"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    content_type: ContentType = ""

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Replace the content type by the one given, or by one that the body is not."""
        other = "application/octet-stream" if b"<html" in answer.body[:200] else "text/html; charset=utf-8"
        return with_headers(answer, ("content-type", self.content_type or other))


class FormEncoded(Fault):
    """The token answer is form-encoded where JSON was asked for."""

    name = "form-encoded"
    legs = (Leg.TOKEN,)

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Write the members of a JSON answer form-encoded; other answers stay as they are."""
        if not is_json(answer):
            return None
        members = {name: str(value) for name, value in json_object(answer).items()}
        body = replace(answer, body=encode(members).encode())
        return with_headers(body, ("content-type", "application/x-www-form-urlencoded; charset=utf-8"))


class ErrorWith200(Fault):
    """An error of the token endpoint with the status of a success."""

    name = "error-with-200"
    legs = (Leg.TOKEN,)

    def instead(self, at: Moment) -> Answer:
        """Return the error members of RFC 6749 5.2 with status 200."""
        return json_answer({"error": "invalid_grant", "error_description": "The code is not valid."})


def error_page(status: int) -> Answer:
    """The page that a proxy in front of a broken server shows."""
    phrase = responses.get(status, "Error")
    page = f"<!doctype html><html><title>{phrase}</title><h1>{status} {phrase}</h1></html>"
    return text_answer(page, status, "text/html")
