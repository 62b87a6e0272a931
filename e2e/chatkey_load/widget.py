"""A Locust user that acts as a widget: creates a key, gets a visitor token, connects with a proof, sends messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, Final

from locust import HttpUser, between, task
from locust.exception import StopUser
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from chatkey_load import options  # noqa: F401 - adds the options
from chatkey_load.books import ACKNOWLEDGED, ANSWER_SEEN, SEEN, settled
from chatkey_load.connection import OPEN_SECONDS, Connection, NotOpened
from chatkey_peer.key import BrowserKey
from chatkey_protocol.names import CONFIG_PATH, SUBPROTOCOL, VISITOR_TOKEN_PATH

Json = dict[str, Any]

ID_BYTES: Final = 12


class Widget(HttpUser):
    """A visitor who writes every one to three seconds. Subclass it to change `wait_time` or `body`."""

    wait_time = between(1, 3)

    def on_start(self) -> None:
        """Make a key, and connect."""
        self._key = BrowserKey()
        self._sent: set[str] = set()
        told = self.environment.parsed_options
        if not told or not told.provider:
            raise StopUser("the business is missing: set --provider ID")
        self._provider = str(told.provider)
        if told.agent:
            SEEN.watched.wait(OPEN_SECONDS)
        self.client.get(CONFIG_PATH.format(id=self._provider), name="configuration")
        self._connection = Connection(self.environment, self._opened, self._heard)

    @task
    def write(self) -> None:
        if not self._connection.ready.wait(OPEN_SECONDS):
            return
        message_id = token_hex(ID_BYTES)
        self._sent.add(message_id)
        ACKNOWLEDGED.begin(message_id)
        if SEEN.watched.is_set():
            SEEN.begin(message_id)
        self._connection.post({"type": "message", "id": message_id, "body": self.body()})

    def body(self) -> str:
        """Return the text of a message."""
        return "Where is my order? It was to come today."

    def on_stop(self) -> None:
        """Wait until this user's messages and all answers are delivered, then disconnect."""
        books = (ACKNOWLEDGED, SEEN)
        settled(lambda: any(book.holds(self._sent) for book in books))
        for book in books:
            book.close(self.environment, self._sent)
        settled(ANSWER_SEEN.is_open)
        self._connection.close()

    @contextmanager
    def _opened(self) -> Iterator[ClientConnection]:
        answer = self._token()
        with connect(
            answer["socket_uri"],
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            proxy=None,
            open_timeout=OPEN_SECONDS,
        ) as socket:
            hello = json.loads(socket.recv(timeout=OPEN_SECONDS))
            token = answer["auth_token"]
            proof = self._key.prove(token=token, nonce=hello["nonce"], htu=answer["socket_uri"])
            socket.send(json.dumps({"type": "connect", "token": token, "proof": proof}))
            if json.loads(socket.recv(timeout=OPEN_SECONDS))["type"] != "ready":
                socket.recv(timeout=OPEN_SECONDS)  # raises ConnectionClosed: a refusal is followed by a close
            yield socket

    def _token(self) -> Json:
        path = VISITOR_TOKEN_PATH.format(id=self._provider)
        answer = self.client.get(path, params={"uid": f"v_{self._key.jkt}"}, name="visitor token")
        if answer.status_code != 200:
            raise NotOpened(f"the visitor token request failed with status {answer.status_code}")
        data: Json = answer.json()["data"]
        return data

    def _heard(self, frame: Json) -> None:
        if frame["type"] == "ack":
            self._connection.acknowledged(frame["id"])
            ACKNOWLEDGED.end(self.environment, frame["id"])
        elif frame["type"] == "message":
            ANSWER_SEEN.end(self.environment, frame["id"])
