"""Grade `command`: runs a command of the implementer for each call, with JSON on stdin and stdout."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any, Final

from chatkey_conform.capabilities import declared
from chatkey_conform.grades.business import Business, HarnessError
from chatkey_conform.grades.made import business_of, wire
from chatkey_conform.target import Target
from chatkey_stack.patience import PATIENCE

VERBS: Final = ("capabilities", "provision", "change", "remove", "advance", "reset", "member", "agent")
SHOWN: Final = 400


class CommandBusinesses:
    """Runs `COMMAND VERB` in the folder of TARGET.toml."""

    def __init__(self, target: Target) -> None:
        self._command = target.document.businesses.command
        self._folder = target.folder

    def capabilities(self) -> frozenset[str]:
        """Ask the command for the capabilities: a list of names, or an object with `capabilities`."""
        told = self._ask("capabilities", {})
        names = told.get("capabilities") if isinstance(told, dict) else told
        if not isinstance(names, list):
            raise HarnessError("The adapter must answer `capabilities` with a list of names.")
        return declared(map(str, names))

    def prepared(self) -> tuple[Business, ...]:
        return ()

    def provision(self, wanted: Mapping[str, Any]) -> Business:
        """Ask the command to create a business. The command answers with `id` and `secret_key`."""
        return business_of(wanted, self._ask("provision", wire(wanted)))

    def change(self, business: Business, changes: Mapping[str, Any]) -> None:
        """Ask the command to change a business. The request contains `id` and the changed members."""
        self._ask("change", {**wire(changes), "id": business.id})

    def remove(self, business: Business) -> None:
        self._ask("remove", {"id": business.id})

    def advance(self, seconds: float) -> None:
        self._ask("advance", {"seconds": seconds})

    def reset(self) -> None:
        self._ask("reset", {})

    def members(self, business: Business) -> list[dict[str, Any]]:
        """Ask the command for the member records, which are a list of objects."""
        told = self._ask("member", {"id": business.id})
        found = told.get("members") if isinstance(told, dict) else told
        return [dict(member) for member in found or []]

    def agent(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return dict(self._ask("agent", request) or {})

    def close(self) -> None: ...

    def _ask(self, verb: str, given: Mapping[str, Any]) -> Any:
        try:
            run = subprocess.run(  # noqa: S603 - the command is the user's own
                [*self._command, verb],
                input=json.dumps(given),
                cwd=self._folder,
                capture_output=True,
                text=True,
                timeout=2 * PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HarnessError(f"The adapter could not be run for {verb}: {error}.") from None
        return _read(verb, run)


def _read(verb: str, run: subprocess.CompletedProcess[str]) -> Any:
    try:
        told = json.loads(run.stdout)
    except ValueError:
        shown = (run.stderr or run.stdout).strip()[-SHOWN:]
        raise HarnessError(
            f"The adapter's answer to {verb} is not JSON (exit status {run.returncode}): {shown}"
        ) from None
    if isinstance(told, dict) and isinstance(told.get("error"), dict):
        raise HarnessError(
            f"The adapter reports an error for {verb}: {told['error'].get('message', 'without a message')}"
        )
    if run.returncode or not isinstance(told, dict) or "data" not in told:
        raise HarnessError(
            f'The adapter must answer {verb} with {{"data": …}} and exit status 0; its exit status is {run.returncode}.'
        )
    return told["data"]
