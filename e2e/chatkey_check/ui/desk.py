"""The actions of the --ui page: show a run, send a call again with changes, and run again."""

from __future__ import annotations

import re
from dataclasses import replace
from threading import Lock
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec

from chatkey_check.checks import ORDER
from chatkey_check.evidence.masks import HIDDEN, Masks
from chatkey_check.evidence.shown import curl, response
from chatkey_check.exchange import Exchange, Header, Request, origin
from chatkey_check.model import Outcome, Question, Report
from chatkey_check.reports import summary
from chatkey_check.reports.fixes import fix
from chatkey_check.run import opened
from chatkey_check.running.runner import Selection, report_of
from chatkey_check.target import Target
from chatkey_check.ui.pasted import explained
from chatkey_check.wire.http import HttpWire, Unreachable, Unsendable
from chatkey_peer.exits import Exit

TONES: Final = {Exit.CLEAN: "pass", Exit.WARNINGS: "warn", Exit.NOT_ALL_JUDGED: "warn", Exit.NOTHING_JUDGED: "skip"}
METHOD: Final = re.compile(r"[A-Za-z]{1,40}", re.ASCII)
HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
"""A header name: the `token` of RFC 9110 5.6.2."""
OUR_OWN: Final = frozenset({"host", "content-length", "transfer-encoding"})
LONGEST: Final = 20_000
"""Longest body, in characters, that is shown whole. A longer one is cut, but sent again whole if it is unchanged."""


class Refused(Exception):
    """The server cannot carry out a request of the page. The message says why."""


class Again(msgspec.Struct):
    """A call to send again: the number of the call, and its edited content."""

    id: Annotated[int, msgspec.Meta(ge=0)]
    method: str
    url: str
    headers: str
    body: str


class Progress:
    """Counts the checks that have ended, skipped ones too, and keeps the check that started last.

    Another thread reads these values.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.now = ""

    def started(self, check: Question) -> None:
        self.now = check.id

    def finished(self, outcome: Outcome) -> None:  # noqa: ARG002 - the report has it
        self.done += 1


class Desk:
    """Runs the checks against an endpoint on request, and keeps the calls of the last run. Thread-safe."""

    def __init__(self, target: Target, selection: Selection) -> None:
        self._target = target
        self._selection = selection
        self._lock = Lock()
        self._calls: list[Exchange] = []
        self._masks = Masks()
        self._report: Report | None = None
        self._progress = Progress(0)

    def run(self) -> dict[str, Any]:
        """Judge the endpoint, and return the new state of the page."""
        with self._lock:
            self._progress = Progress(len(ORDER))
            with opened(self._target) as run:
                self._report = report_of(run, selection=self._selection, listener=self._progress)
                self._calls = sorted(run.calls.record.log, key=lambda done: done.sent_at)
                self._masks = run.calls.masks
            return self._state(self._report)

    def state(self) -> dict[str, Any]:
        """Return the data that the page shows. The first call judges the endpoint."""
        if self._report is None:
            return self.run()
        with self._lock:
            return self._state(self._report)

    def progress(self) -> dict[str, Any]:
        """Return how far the present run is. Does not wait for the run."""
        shown = self._progress
        return {"done": shown.done, "total": shown.total, "now": shown.now}

    def send(self, asked: Again) -> dict[str, Any]:
        """Send a call again with the changes that were made on the page. Raises `Refused`.

        Masked values are sent as they originally were. Other origins are refused, because they would get the session.
        """
        with self._lock:
            request = self._changed(asked)
            wire = HttpWire(self._target)
            try:
                self._calls.append(wire.send(request))
            except Unreachable as error:
                raise Refused(f"The endpoint cannot be reached: {error}.") from error
            except Unsendable as error:
                raise Refused(f"This call cannot be sent over HTTP: {error}.") from error
            finally:
                wire.close()
            return self._shown(len(self._calls) - 1)

    def explain(self, token: str) -> dict[str, Any]:
        return explained(token, self._target)

    def _changed(self, asked: Again) -> Request:
        if asked.id >= len(self._calls):
            raise Refused("This call is no longer known. Reload the page.")
        before, url, body = self._calls[asked.id].request, asked.url, asked.body
        if origin(url) not in {self._target.origin, self._target.page} or "@" in urlsplit(url).netloc:
            raise Refused(f"Calls can only be sent to {self._target.origin}, because they contain the session.")
        if not METHOD.fullmatch(asked.method):
            raise Refused("The method must be a word, such as POST.")
        shown_url, shown_body = self._masks.masked(before.url), self._text(before.body)
        return replace(
            before,
            label="sent again from the page",
            method=asked.method.upper(),
            url=before.url if url == shown_url else url,
            headers=tuple(self._header(line, before) for line in asked.headers.splitlines() if line.strip()),
            body=before.body if body == shown_body else body.encode(),
        )

    def _header(self, line: str, before: Request) -> Header:
        """Parse a header line. If the line equals a masked line, return the original header."""
        for header in before.headers:
            if line == _line(self._masks.header(header)):
                return header
        name, colon, value = line.partition(":")
        if not colon or not HEADER_NAME.fullmatch(name.strip()) or not line.isprintable():
            raise Refused(f"{line[:40]!r} is not a header. Write a name, a colon and a value.")
        if name.strip().lower() in OUR_OWN:
            raise Refused(f"{name}: leave this header out. It is set automatically.")
        if HIDDEN in value:
            raise Refused(
                f"{name}: a masked value cannot be edited. Write the whole value, or leave the line unchanged."
            )
        return name.strip(), value.strip()

    def _state(self, report: Report) -> dict[str, Any]:
        findings = [o for o in report.outcomes if o.verdict in summary.FINDINGS]
        return {
            "target": report.target,
            "headline": summary.headline(report),
            "tone": TONES.get(summary.result(report), "fail"),
            "about": summary.duration(report),
            "findings": [
                {"id": o.check.id, "verdict": o.verdict, "message": o.message, "why": o.check.why, "fix": fix(o)}
                for o in findings
            ],
            "calls": [self._shown(number) for number in range(len(self._calls))],
            "first": self._first(),
        }

    def _first(self) -> int:
        """Return the number of the first call to the endpoint. Calls of a login may have lower numbers."""
        endpoint = self._target.url.partition("?")[0]
        asked = (number for number, done in enumerate(self._calls) if done.request.url.startswith(endpoint))
        return next(asked, 0)

    def _shown(self, number: int) -> dict[str, Any]:
        done = self._calls[number]
        request = done.request
        return {
            "id": number,
            "label": request.label,
            "method": request.method,
            "url": self._masks.masked(request.url),
            "headers": "\n".join(_line(self._masks.header(header)) for header in request.headers),
            "body": self._text(request.body),
            "status": done.status,
            "milliseconds": round(done.seconds * 1000),
            "answer": response(done, self._masks),
            "curl": curl(request, self._target, self._masks, http2=done.http2),
        }

    def _text(self, body: bytes) -> str:
        text = self._masks.hidden(body).decode("utf-8", "replace")
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(body):,} bytes)"


def _line(header: Header) -> str:
    return f"{header[0]}: {header[1]}"
