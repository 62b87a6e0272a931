"""Faults that can affect any endpoint. The response is then late, missing, broken or a refusal."""

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

Seconds = Annotated[float, msgspec.Meta(ge=0, le=600, description="How many seconds the response takes.")]
ErrorStatus = Annotated[int, msgspec.Meta(ge=400, le=599, description="The status of the response.")]
RetryAfter = Annotated[
    int, msgspec.Meta(ge=0, le=86400, description="The seconds after which the client may try again.")
]
ContentType = Annotated[str, msgspec.Meta(pattern=r"^[\x21-\x7e ]{1,100}(?!\n)$", description="The content type.")]
Megabytes = Annotated[int, msgspec.Meta(ge=1, le=64, description="The size of the response in MB.")]
Address = Annotated[
    str, msgspec.Meta(pattern=r"^https?://[\x21-\x7e]{1,500}(?!\n)$", description="The address to redirect to.")
]

BROKEN_JSON = b'{"error": "server_error", "error_descr'


class Slow(Fault):
    """The response comes late."""

    name = "slow"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    seconds: Seconds = 3.0

    def answer(self, answer: Answer, at: Moment) -> Answer:
        return replace(answer, delay=self.seconds)


class Hang(Fault):
    """The response never comes. The connection stays open until the other side gives up."""

    name = "hang"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        return replace(answer, delay=None)


class Reset(Fault):
    """The connection is reset after the request has taken effect. There is no response."""

    name = "reset"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        return replace(answer, cut="before")


class Truncated(Fault):
    """The connection ends in the middle of the response, before its full length has been sent."""

    name = "truncated"
    legs = ANYWHERE
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Close the connection after half of the body. A response without a body does not change."""
        return replace(answer, cut="midway") if answer.body else None


class Status500(Fault):
    """The server fails with an HTML page, and the request has no effect. `status` can be another 4xx or 5xx."""

    name = "status-500"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    status: ErrorStatus = 500

    def instead(self, at: Moment) -> Answer:
        return error_page(self.status)


class Unavailable(Fault):
    """The server is down for maintenance: 503 with `Retry-After`."""

    name = "unavailable"
    legs = ANYWHERE
    leg: Where = Leg.TOKEN
    retry_after: RetryAfter = 30

    def instead(self, at: Moment) -> Answer:
        return with_headers(error_page(503), ("retry-after", str(self.retry_after)))


class RateLimited(Fault):
    """The provider refuses the request because of a rate limit, with its own status, headers and body."""

    name = "rate-limited"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    retry_after: RetryAfter = 30

    def instead(self, at: Moment) -> Answer:
        return at.provider.rate_limited(self.retry_after)


class Redirected(Fault):
    """The response is a redirect to another address, to which a client must not send its secret."""

    name = "redirected"
    legs = BACK_CHANNEL
    leg: Where = Leg.TOKEN
    to: Address = "http://127.0.0.1:9/elsewhere"

    def instead(self, at: Moment) -> Answer:
        """Redirect with 307. A client that follows this redirect sends its request again, to the other address."""
        return Answer(307, headers=(("location", self.to),))


class MalformedJson(Fault):
    """The response claims to be JSON but is cut off in the middle."""

    name = "malformed-json"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Return the first half of the JSON body. If the body is not JSON, return half of an error object."""
        body = answer.body[: len(answer.body) // 2] if is_json(answer) else BROKEN_JSON
        return with_headers(replace(answer, status=200, body=body), ("content-type", "application/json"))


class DuplicateMembers(Fault):
    """One member of the JSON occurs twice, with another value the second time."""

    name = "duplicate-members"
    legs = (Leg.TOKEN, Leg.PROFILE)
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Repeat the access token of a token response, or the subject of a profile."""
        members = json_object(answer)
        name = subject_name(members) if at.leg is Leg.PROFILE else "access_token"
        if name is None or name not in members:
            return None
        second = msgspec.json.encode({name: "another-value"})[1:]
        return replace(answer, body=msgspec.json.encode(members)[:-1] + b"," + second)


class EmptyAnswer(Fault):
    """A successful response with an empty body."""

    name = "empty-answer"
    legs = BACK_CHANNEL
    on_menu = True
    leg: Where = Leg.TOKEN

    def answer(self, answer: Answer, at: Moment) -> Answer:
        return replace(answer, status=200, body=b"")


class HugeAnswer(Fault):
    """The response is far larger than any real one."""

    name = "huge-answer"
    legs = BACK_CHANNEL
    leg: Where = Leg.TOKEN
    megabytes: Megabytes = 8

    def answer(self, answer: Answer, at: Moment) -> Answer:
        members = json_object(answer) | {"padding": "x" * self.megabytes * 1_000_000}
        return replace(answer, body=msgspec.json.encode(members))


class WrongContentType(Fault):
    """The body is correct but its content type is wrong: JSON as HTML, pages as a download."""

    name = "wrong-content-type"
    legs = ANYWHERE
    on_menu = True
    leg: Where = Leg.TOKEN
    content_type: ContentType = ""

    def answer(self, answer: Answer, at: Moment) -> Answer:
        """Set the given content type. If no type is given, choose one that does not fit the body."""
        other = "application/octet-stream" if b"<html" in answer.body[:200] else "text/html; charset=utf-8"
        return with_headers(answer, ("content-type", self.content_type or other))


class FormEncoded(Fault):
    """The token response is form-encoded although JSON was requested."""

    name = "form-encoded"
    legs = (Leg.TOKEN,)

    def answer(self, answer: Answer, at: Moment) -> Answer | None:
        """Form-encode the members of a JSON response. Other responses do not change."""
        if not is_json(answer):
            return None
        members = {name: str(value) for name, value in json_object(answer).items()}
        body = replace(answer, body=encode(members).encode())
        return with_headers(body, ("content-type", "application/x-www-form-urlencoded; charset=utf-8"))


class ErrorWith200(Fault):
    """The token endpoint returns an error with a success status."""

    name = "error-with-200"
    legs = (Leg.TOKEN,)

    def instead(self, at: Moment) -> Answer:
        return json_answer({"error": "invalid_grant", "error_description": "The code is not valid."})


def error_page(status: int) -> Answer:
    """Return an error page like that of a proxy whose server has failed."""
    phrase = responses.get(status, "Error")
    page = f"<!doctype html><html><title>{phrase}</title><h1>{status} {phrase}</h1></html>"
    return text_answer(page, status, "text/html")
