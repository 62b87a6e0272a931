"""Tests of the log. All lines must go to one stream and contain no secret."""

from __future__ import annotations

import errno
import io
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest
import structlog

from chatkey_protocol.codes import Close, Code
from chatkey_server import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJwaWQiOiJzaG9wIn0.c2lnbmF0dXJl"
PEM = "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----"

Lines = list[dict[str, Any]]


@pytest.fixture
def lines_at() -> Iterator[Callable[[str], Callable[[], Lines]]]:
    """Configure the log at a level. Returns a function that reads the logged lines."""

    def configure(level: str) -> Callable[[], Lines]:
        stream = io.StringIO()
        logs.configure(level, stream=stream)
        return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

    yield configure
    logs.configure("debug", stream=io.StringIO())


@pytest.fixture
def lines(lines_at: Callable[[str], Callable[[], Lines]]) -> Callable[[], Lines]:
    """Return a function that reads the lines logged at level info."""
    return lines_at("info")


def test_an_event_is_one_json_line_with_its_word_level_and_time(lines: Callable[[], Lines]) -> None:
    structlog.get_logger().info("socket.ready", uid="v_abc", skew=0.5)

    [line] = lines()
    assert (line["event"], line["level"], line["uid"], line["skew"]) == ("socket.ready", "info", "v_abc", 0.5)
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("value", ["é", "half of a character: \ud800", 2**70])
def test_every_value_is_logged_as_one_line_of_ascii(value: object) -> None:
    stream = io.StringIO()
    logs.configure("info", stream=stream)

    structlog.get_logger().info("x", value=value)
    logs.configure("debug", stream=io.StringIO())

    assert stream.getvalue().isascii()
    assert json.loads(stream.getvalue())["value"] == value


@pytest.mark.parametrize(
    "key",
    [
        *("auth", "token", "auth_token", "id_token", "tokens", "secret", "secret_key", "client_secret", "proof", "p8"),
        *("password", "code_verifier", "client_assertion", "Authorization", "cookie", "set_cookie", "master_key"),
    ],
)
def test_values_of_secret_keys_are_hidden(lines: Callable[[], Lines], key: str) -> None:
    structlog.get_logger().info("x", **{key: "hidden-value"}, inner=[{key: ["hidden-value"]}])

    assert "hidden-value" not in json.dumps(lines())
    assert lines()[0][key] == "[redacted]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"token {JWT} refused", "token [redacted] refused"),
        (f"{JWT[:40]} cut", "[redacted] cut"),
        (PEM, "[redacted]"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"),
        (
            f"GET /v1/member/token?auth={JWT}&jkt=abc HTTP/1.1",
            "GET /v1/member/token?auth=[redacted]&jkt=[redacted] HTTP/1.1",
        ),
        (
            "https://a.example/callback?code=4/0AX&state=xyz#done",
            "https://a.example/callback?code=[redacted]&state=[redacted]#done",
        ),
        ("nothing to hide?", "nothing to hide?"),
    ],
)
def test_values_that_look_secret_are_hidden_everywhere(lines: Callable[[], Lines], text: str, shown: str) -> None:
    structlog.get_logger().info("x", note=text, inner={"a": (text,)}, thing=ValueError(text))

    [line] = lines()
    assert (line["note"], line["inner"], line["thing"]) == (shown, {"a": [shown]}, shown)


def test_oauth_codes_and_states_are_hidden_and_our_own_codes_and_states_are_shown(lines: Callable[[], Lines]) -> None:
    structlog.get_logger().info("ours", code=Code.TOKEN_EXPIRED, state="ringing")
    structlog.get_logger().info("closed", code=Close.TOKEN)
    structlog.get_logger().info("theirs", code="4/0AX4XfWh", state="af0ifjsldkj")

    ours, closed, theirs = lines()
    assert (ours["code"], ours["state"]) == ("token_expired", "ringing")
    assert closed["code"] == 4401
    assert (theirs["code"], theirs["state"]) == ("[redacted]", "[redacted]")


def test_a_traceback_is_shown_without_its_secrets(lines: Callable[[], Lines]) -> None:
    try:
        int(JWT)
    except ValueError:
        structlog.get_logger().exception("request.failed")

    assert lines()[0]["exception"].endswith("with base 10: '[redacted]'")


def test_libraries_warnings_are_in_the_same_stream_and_redacted(lines: Callable[[], Lines]) -> None:
    logging.getLogger("chatkey.serving").info("Started")
    logging.getLogger("chatkey.serving").warning("Odd request: %s", f"/token?auth={JWT}")

    [line] = lines()
    assert (line["event"], line["level"]) == ("Odd request: /token?auth=[redacted]", "warning")


def test_with_level_debug_messages_of_libraries_are_logged(lines_at: Callable[[str], Callable[[], Lines]]) -> None:
    lines = lines_at("debug")

    logging.getLogger("chatkey.requests").info("GET %s", f"/token?auth={JWT}")
    structlog.get_logger().debug("request.refused")

    assert [line["event"] for line in lines()] == ["GET /token?auth=[redacted]", "request.refused"]


def test_events_below_the_level_are_not_logged(lines: Callable[[], Lines]) -> None:
    structlog.get_logger().debug("request.refused")

    assert lines() == []


def test_a_listener_gets_hidden_events_redacted_while_it_listens(lines: Callable[[], Lines]) -> None:
    heard: list[dict[str, Any]] = []

    with logs.listening(lambda event: heard.append(dict(event))):
        structlog.get_logger().debug("token.refused", auth="hidden-value")
    structlog.get_logger().debug("too late")

    assert [(event["event"], event["auth"]) for event in heard] == [("token.refused", "[redacted]")]
    assert lines() == []


def test_a_terminal_gets_readable_lines() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    logs.configure("info", stream=terminal)

    structlog.get_logger().info("socket.ready", uid="v_abc")
    logs.configure("debug", stream=io.StringIO())

    assert "socket.ready" in terminal.getvalue()
    assert not terminal.getvalue().startswith("{")


def test_a_log_that_cannot_be_written_raises_no_error() -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    heard: list[dict[str, Any]] = []
    logs.configure("info", stream=Full())

    with logs.listening(lambda event: heard.append(dict(event))):
        structlog.get_logger().info("socket.ready")
        logging.getLogger("some.library").warning("a word of its own")
    logs.configure("debug", stream=io.StringIO())

    assert [event["event"] for event in heard] == ["socket.ready"]


def test_of_many_events_a_burst_is_written_and_listeners_get_all() -> None:
    stream = io.StringIO()
    heard: list[str] = []
    logs.configure("info", stream=stream, lines_per_second=1)

    with logs.listening(lambda event: heard.append(event["event"])):
        for _ in range(300):
            structlog.get_logger().info("socket.refused", code=Code.FRAME_INVALID)
            logging.getLogger("chatkey.serving").warning("Invalid HTTP request received.")
        structlog.get_logger().info("socket.refused", code=Code.TOKEN_EXPIRED)
        structlog.get_logger().error("database.away")
    logs.configure("debug", stream=io.StringIO())

    written = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert len(heard) == 302
    assert (written.count("socket.refused"), written.count("Invalid HTTP request received.")) == (11, 10)
    assert written[-2:] == ["socket.refused", "database.away"]


class Arrived(logs.Event, tag="arrived"):
    """A typed event."""

    uid: str


@pytest.mark.parametrize("uid", ["v_abc", "é", "half of a character: \ud800"])
def test_a_typed_event_is_the_same_line_as_one_of_structlog(lines: Callable[[], Lines], uid: str) -> None:
    token = logs.REQUEST.set("0123456789abcdef")
    logs.info(Arrived(uid=uid))
    structlog.get_logger().info("arrived", uid=uid)
    logs.REQUEST.reset(token)

    typed, untyped = lines()
    assert typed.pop("timestamp").endswith("Z")
    assert untyped.pop("timestamp").endswith("Z")
    assert typed == untyped


def test_a_typed_event_has_no_request_where_there_is_none(lines: Callable[[], Lines]) -> None:
    logs.info(Arrived(uid="v_abc"))

    [line] = lines()
    assert line.keys() == {"event", "level", "timestamp", "uid"}


def test_a_typed_event_is_hidden_above_its_level(lines_at: Callable[[str], Callable[[], Lines]]) -> None:
    lines = lines_at("warning")

    logs.info(Arrived(uid="v_abc"))

    assert lines() == []


def test_a_listener_hears_a_typed_event(lines: Callable[[], Lines]) -> None:
    heard: list[Mapping[str, Any]] = []

    with logs.listening(heard.append):
        logs.info(Arrived(uid="v_abc"))

    assert [(event["event"], event["uid"]) for event in heard] == [("arrived", "v_abc")]
    assert len(lines()) == 1


def test_surplus_typed_events_are_left_out() -> None:
    stream = io.StringIO()
    logs.configure("info", stream=stream, lines_per_second=1)

    for _ in range(300):
        logs.info(Arrived(uid="v_abc"))
    logs.configure("debug", stream=io.StringIO())

    assert len(stream.getvalue().splitlines()) == 10
