"""Sends back-channel messages of the fake to applications, in the background, and records the results."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.grants import Ring

if TYPE_CHECKING:
    from chatkey_oauth.engine.world import Message

SECONDS: Final = 10
"""The time that an application has to answer."""

KEPT: Final = 1000


class Outbox:
    """The newest back-channel messages, with their results. Each message is sent by its own thread."""

    def __init__(self) -> None:
        self._messages: Ring[Message] = Ring(KEPT)
        self._sent = 0

    def post(self, message: Message, body: bytes) -> None:
        """Send a form to an application. Does not wait for the response."""
        self._sent += 1
        self._messages.put(str(self._sent), message)
        Thread(target=deliver, args=(message, body), daemon=True).start()

    def all(self) -> list[Message]:
        """Return all messages, newest first."""
        return self._messages.newest_first()

    def clear(self) -> None:
        self._messages.clear()


def deliver(message: Message, body: bytes) -> None:
    """Send one message, and store the status of the response, or the reason why there is none, in the message."""
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, Request, build_opener

    form = {"content-type": "application/x-www-form-urlencoded"}
    asked = Request(message.uri, body, form)  # noqa: S310 - `check_backchannel` has checked the scheme
    try:
        with build_opener(ProxyHandler({})).open(asked, timeout=SECONDS) as answer:
            message.result = str(answer.status)
    except HTTPError as error:
        message.result = str(error.code)
    except (OSError, ValueError) as error:
        message.result = f"not delivered: {error}"
