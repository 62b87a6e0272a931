"""A Locust user that acts as an agent: signs in, receives all messages, and answers the most recent ones."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, Final

from locust import HttpUser, between, task
from locust.exception import StopUser
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from chatkey_load import options  # noqa: F401 - adds the options
from chatkey_load.books import ACKNOWLEDGED, ANSWER_ACKNOWLEDGED, ANSWER_SEEN, SEEN, settled
from chatkey_load.connection import OPEN_SECONDS, Connection

Json = dict[str, Any]

SIGN_IN_PATH: Final = "/agent/sign-in"
SOCKET_PATH: Final = "/agent/socket"
MOST_WAITING: Final = 1000
ID_BYTES: Final = 12


class Agent(HttpUser):
    """An agent with the panel open. Locust starts one agent, or the number in `fixed_count` of a subclass."""

    wait_time = between(0.5, 1.5)
    fixed_count = 1

    def on_start(self) -> None:
        """Sign in, and open the panel's socket."""
        told = self.environment.parsed_options
        if not told or not told.agent:
            raise StopUser("the agent is missing: set --agent NAME, and the password in LOCUST_AGENT_PASSWORD")
        self._sent: set[str] = set()
        self._wrote: deque[str] = deque(maxlen=MOST_WAITING)
        form = {"username": told.agent, "password": told.agent_password}
        self._origin = str(self.host).rstrip("/")
        signing_in = self.client.post(
            SIGN_IN_PATH, data=form, headers={"origin": self._origin}, allow_redirects=False, name="agent sign-in"
        )
        if signing_in.status_code != 303:
            raise StopUser(f"the agent's sign-in failed with status {signing_in.status_code}")
        self._connection = Connection(self.environment, self._opened, self._heard)

    @task
    def answer(self) -> None:
        """Answer the most recent message, if there is one."""
        if not self._wrote or not self._connection.ready.wait(OPEN_SECONDS):
            return
        message_id = token_hex(ID_BYTES)
        self._sent.add(message_id)
        for book in (ANSWER_ACKNOWLEDGED, ANSWER_SEEN):
            book.begin(message_id)
        frame = {"type": "answer", "conversation": self._wrote.pop(), "id": message_id, "body": self.body()}
        self._connection.post(frame)

    def body(self) -> str:
        """Return the text of an answer."""
        return "It is on its way, and will be with you tomorrow."

    def on_stop(self) -> None:
        """Wait until all messages and answers are delivered, including those of other users, then disconnect."""
        books = (ANSWER_ACKNOWLEDGED, ANSWER_SEEN)
        settled(lambda: any(book.holds(self._sent) for book in books))
        for book in books:
            book.close(self.environment, self._sent)
        settled(lambda: ACKNOWLEDGED.is_open() or SEEN.is_open())
        self._connection.close()

    @contextmanager
    def _opened(self) -> Iterator[ClientConnection]:
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.client.cookies)
        with connect(
            f"ws{self._origin.removeprefix('http')}{SOCKET_PATH}",
            origin=Origin(self._origin),
            additional_headers={"Cookie": cookies},
            compression=None,
            proxy=None,
            open_timeout=OPEN_SECONDS,
        ) as socket:
            if json.loads(socket.recv(timeout=OPEN_SECONDS))["type"] != "ready":
                socket.recv(timeout=OPEN_SECONDS)  # raises ConnectionClosed: a refusal is followed by a close
            SEEN.watched.set()
            try:
                yield socket
            finally:
                SEEN.watched.clear()

    def _heard(self, frame: Json) -> None:
        if frame["type"] == "ack":
            self._connection.acknowledged(frame["id"])
            ANSWER_ACKNOWLEDGED.end(self.environment, frame["id"])
        elif frame["type"] == "message" and frame["message"]["sender"] == "customer":
            SEEN.end(self.environment, frame["message"]["id"])
            self._wrote.append(frame["conversation"])
