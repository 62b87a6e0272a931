"""Writes one stream of log events without secrets, which people, programs and the lab's feed can read."""

from __future__ import annotations

import atexit
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import lru_cache, partial
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TextIO, cast

import msgspec
import structlog

from chatkey_serving.few_lines import FewLines, kind_of
from chatkey_serving.site import LOG

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger

Listener = Callable[[Mapping[str, Any]], None]
"""Receives a redacted event: its name in `event`, its level in `level`, and its facts."""

REDACTED: Final = "[redacted]"

REQUEST: Final[ContextVar[str]] = ContextVar("request", default="")
"""The id of the current request or socket. Each event has it as `request`."""

_SECRET_KEY: Final = re.compile(
    r"(?:^|.*_)(?:auth|token|secret|proof|p8|password|verifier|assertion|authorization|cookie)s?"
    r"|(?:secret|private|master)_keys?",
    re.IGNORECASE,
)
_SHARED_KEYS: Final = frozenset({"code", "state"})
_WORD: Final = re.compile(r"[a-z]+(?:_[a-z]+)*")
_SECRET_TEXTS: Final = (
    (re.compile(r"eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){1,4}"), REDACTED),
    (re.compile(r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)", re.DOTALL), REDACTED),
    (re.compile(r"\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]+", re.IGNORECASE), rf"\1 {REDACTED}"),
    (re.compile(r"([?&#][\w.\[\]%-]{1,64}=)[^&#\s\"'<>]+"), rf"\1{REDACTED}"),
)

_SIGN: Final = re.compile("[ =]|eyJ")
"""Every text that one of these patterns matches contains one of these signs. Most texts contain none, so that the
slower patterns can be skipped.
"""
_HARMLESS: Final = (NoneType, bool, int, float)

_LEVELS: Final = logging.getLevelNamesMapping()
_encode: Final = msgspec.json.Encoder().encode

_listeners: set[Listener] = set()
_shown_from = logging.INFO
_write_line: Callable[[Event], None] | None = None
"""Writes a typed event as a JSON line. None if people read the log, or if the log is not configured."""


class Event(msgspec.Struct, kw_only=True, tag_field="event"):
    """An event of level `info` whose members are known. A subclass has the event's name as its tag.

    No member may contain a secret. A member with text of other people must be passed through `without_secrets`.
    """

    level: str = "info"
    request: str | msgspec.UnsetType = msgspec.field(default_factory=lambda: REQUEST.get() or msgspec.UNSET)
    timestamp: datetime = msgspec.field(default_factory=lambda: datetime.now(UTC))


class _Patient:
    """A stream that ignores write errors, so that the chat works even if the log's disk is full."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def configure(level: str = "info", *, stream: TextIO | None = None, lines_per_second: int = 0) -> None:
    """Send the log events of the server and all libraries to one stream, by default standard error.

    Events are written as JSON lines unless the stream is a terminal. Libraries log only warnings. At level `debug`,
    libraries also log information, and each request is logged. If one kind of line exceeds `lines_per_second`, further
    lines are dropped and counted; 0 means no limit.
    """
    global _shown_from, _write_line  # noqa: PLW0603 - structlog's configuration is one per process too
    output = stream or sys.stderr
    _shown_from = _LEVELS[level.upper()]
    patient = cast("TextIO", _Patient(output))
    few = FewLines(lines_per_second, _tell_left_out)
    LOG.handlers, LOG.propagate = [], True  # other servers write their warnings themselves
    atexit.register(few.report)
    render = structlog.dev.ConsoleRenderer() if output.isatty() else structlog.processors.JSONRenderer(_json)
    structlog.configure(
        processors=[*_COMMON, _tell, _drop_hidden, partial(_drop_surplus, few), render],
        logger_factory=structlog.WriteLoggerFactory(patient),
        cache_logger_on_first_use=False,
    )
    _set_threshold()
    _write_line = None if output.isatty() else partial(_line, few, patient)
    handler = logging.StreamHandler(patient)
    handler.addFilter(lambda record: few.admits(kind_of(record), traceback=bool(record.exc_info)))
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=[meta, *_COMMON, render]))
    foreign = logging.INFO if _shown_from == logging.DEBUG else max(logging.WARNING, _shown_from)
    logging.basicConfig(level=foreign, handlers=[handler], force=True)


def info(event: Event) -> None:
    """Log a typed event. This takes a fraction of the time of structlog, and writes the same line."""
    if _write_line is not None and not _listeners:
        _write_line(event)
    else:
        facts = msgspec.structs.asdict(event)
        for added in Event.__struct_fields__:
            del facts[added]
        structlog.get_logger().info(type(event).__struct_config__.tag, **facts)


def _line(few: FewLines, stream: TextIO, event: Event) -> None:
    """Write a JSON line, unless it is below the log level or surplus."""
    if _shown_from <= logging.INFO and few.admits(str(type(event).__struct_config__.tag)):
        stream.write(_json(event) + "\n")
        stream.flush()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass every event, including those below the log level, to `listener` while the context lasts."""
    _listeners.add(listener)
    _set_threshold()
    try:
        yield
    finally:
        _listeners.discard(listener)
        _set_threshold()


def redact(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace the secrets in an event. A secret is recognised by the name of its key, or by the form of its text."""
    return {key: _redacted(key, value) for key, value in event.items()}


def _redacted(key: str, value: object) -> object:
    if isinstance(value, _HARMLESS):
        return value
    if _is_secret(key):
        return REDACTED
    if isinstance(value, str):
        return without_secrets(value, key)
    if isinstance(value, Mapping):
        return {str(name): _redacted(str(name), part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(key, part) for part in value]
    return without_secrets(str(value), key)


@lru_cache(maxsize=1024)
def _is_secret(key: str) -> bool:
    return _SECRET_KEY.fullmatch(key) is not None


def without_secrets(text: str, key: str = "") -> str:
    """Replace what looks like a secret in a text. For some keys, every text that is not a plain word is a secret."""
    if key in _SHARED_KEYS and not _WORD.fullmatch(text):
        return REDACTED  # an OAuth code or state; our own codes and states are plain words
    if not _SIGN.search(text):
        return str(text)  # for a member of an enumeration, its text, as at the end
    for pattern, replacement in _SECRET_TEXTS:
        text = pattern.sub(replacement, text)
    return text


def _json(event: EventDict | Event, **_: object) -> str:
    """Encode a redacted event as ASCII JSON. If the fast encoder fails or gives non-ASCII text, use the slower one."""
    try:
        return _encode(event).decode("ascii")
    except (UnicodeError, OverflowError):
        return json.dumps(msgspec.to_builtins(event))


def _tell(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    for listener in tuple(_listeners):
        listener(event)
    return event


def _drop_hidden(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    if _LEVELS[event["level"].upper()] < _shown_from:
        raise structlog.DropEvent
    return event


def _drop_surplus(few: FewLines, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Drop a line if there are too many lines of its kind. The kind is the event's name and code."""
    kind = f"{event['event']} {event.get('code') or ''}".rstrip()
    if not few.admits(kind, traceback="exception" in event):
        raise structlog.DropEvent
    return event


def _tell_left_out(kind: str, count: int) -> None:
    structlog.get_logger("chatkey.log").warning("log.left_out", kind=kind, more=f"… {count:,} more like this")


def _set_threshold() -> None:
    threshold = logging.DEBUG if _listeners else _shown_from
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(threshold))


def _name_request(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    if request := REQUEST.get():
        event.setdefault("request", request)
    return event


_COMMON: Final[tuple[Processor, ...]] = (
    structlog.processors.add_log_level,
    _name_request,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    redact,
)
