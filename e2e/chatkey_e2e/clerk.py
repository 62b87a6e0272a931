"""An agent who reads conversations, answers and ends calls without a panel."""

from __future__ import annotations

from typing import Any

from chatkey_stack.lab import AgentDeed, ServiceLab


class Clerk:
    """The agent of one business. A conversation is identified by the uid of its person."""

    def __init__(self, lab: ServiceLab, provider_id: str) -> None:
        self._lab = lab
        self._provider_id = provider_id

    def read(self, uid: str) -> list[tuple[str, str]]:
        """Return the author, `customer` or `agent`, and the text of each message."""
        return self._do(uid, "read")

    def answer(self, uid: str, body: str) -> list[tuple[str, str]]:
        """Write a message, and return the conversation with this message."""
        return self._do(uid, "answer", body=body)

    def end_call(self, uid: str) -> list[tuple[str, str]]:
        """End the call, and return the conversation."""
        return self._do(uid, "end")

    def _do(self, uid: str, do: AgentDeed, **more: object) -> list[tuple[str, str]]:
        messages: list[dict[str, Any]] = self._lab.agent(self._provider_id, uid, do, **more)["messages"]
        return [(message["sender"], message["body"]) for message in messages]
