"""An HTTP response of the service under test. No part of the response is assumed to be valid."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from chatkey_conform.data import misfit
from chatkey_conform.judging.verdict import Broken, OtherRefusal, expect, expect_that

Json = dict[str, Any]
CODES = "D-02/envelope"
"""The sentence of the profile about the codes of failures over HTTP."""


@dataclass(frozen=True)
class Answer:
    """Status, headers and body of a response. `asked` is the method and path of the request."""

    asked: str
    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def kind(self) -> str:
        """The media type, without its parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()

    def json(self) -> Json:
        """Return the JSON object in the body. Raises `Broken` if there is none."""
        expect(self.kind, "application/json", f"The Content-Type of the answer to {self.asked}")
        try:
            value = json.loads(self.body)
        except ValueError:
            raise Broken(f"The body of the answer to {self.asked} is not JSON") from None
        expect_that(isinstance(value, dict), f"The body of the answer to {self.asked} is not a JSON object")
        return Json(value)

    def data(self) -> Json:
        """Return the `data` object of a success response. Raises `Broken` if there is none."""
        expect(self.status, 200, f"The status of {self.asked}")
        value = self.json().get("data")
        expect_that(isinstance(value, dict), f"`data` in the answer to {self.asked} is not an object")
        return Json(value or {})

    def refused(self, status: int, *codes: str) -> None:
        """Check that the response is a JSON refusal with this status and one of the codes. Raises `Broken`."""
        self.denied(status)
        body = self.json()
        if why := misfit("failure", body):
            raise Broken(f"The answer to {self.asked} {why}")
        code = body["error"]["code"]
        if code not in codes:
            raise OtherRefusal(f"error.code of {self.asked}: expected {' or '.join(codes)}, got {code}", CODES)
        expect_that(
            "no-store" in self.header("cache-control").lower(),
            f"Cache-Control of the {status} to {self.asked} lacks no-store",
        )
        if status == 401:
            expect_that(
                self.header("www-authenticate").lower().startswith("bearer"),
                f"The 401 to {self.asked} lacks WWW-Authenticate: Bearer",
            )

    def denied(self, status: int) -> None:
        """Check the status of a refusal. Raises `OtherRefusal` if the service refuses with another status from 4xx."""
        try:
            expect(self.status, status, f"The status of {self.asked}")
        except Broken as other:
            if not 400 <= self.status < 500 or self.status == 429:
                raise
            raise OtherRefusal(str(other), CODES, other_status=True) from None

    def page(self, status: int) -> None:
        """Check that the response is a page of the popup with the required headers. Raises `Broken`."""
        if status >= 400:
            self.denied(status)
        expect(self.status, status, f"The status of {self.asked}")
        expect(self.kind, "text/html", f"The Content-Type of the page of {self.asked}")
        for name, wanted in (
            ("cache-control", "no-store"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "deny"),
            ("content-security-policy", "default-src 'none'"),
            ("content-security-policy", "'nonce-"),
        ):
            expect_that(
                wanted in self.header(name).lower(),
                f"{name} of the page of {self.asked} lacks {wanted}: {self.header(name)!r}",
            )
        expect_that(
            "cross-origin-opener-policy" not in self.headers,
            f"The page of {self.asked} has a Cross-Origin-Opener-Policy, which removes `opener` from the popup",
        )

    @property
    def retry_after(self) -> float | None:
        """The seconds to wait before the next request. The header may contain a number or a date (RFC 9110 10.2.3)."""
        told = self.header("retry-after").strip()
        if told.isascii() and told.isdigit():
            return float(told)
        try:
            left = (parsedate_to_datetime(told) - self._sent).total_seconds()
        except (ValueError, TypeError):
            return None
        return max(0.0, float(math.ceil(left)))

    @property
    def _sent(self) -> datetime:
        try:
            return parsedate_to_datetime(self.header("date"))
        except ValueError:
            return datetime.now(UTC)

    def listed(self, name: str) -> list[str]:
        """Return the comma-separated parts of a header's value in lower case. A proxy may have added parts."""
        return [part.strip().lower() for part in self.header(name).split(",")]

    def header(self, name: str) -> str:
        """Return a header's value, or an empty text if the header is missing."""
        return str(self.headers.get(name, ""))
