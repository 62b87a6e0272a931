"""Grade `command`: a command of the implementer's, called once for each verb, with JSON in and out."""

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
    """Calls `COMMAND VERB`, in the folder of TARGET.toml."""

    def __init__(self, target: Target) -> None:
        self._command = target.document.businesses.command
        self._folder = target.folder

    def capabilities(self) -> frozenset[str]:
        """Ask what the service can do: a list of names, or an object with `capabilities`."""
        told = self._ask("capabilities", {})
        names = told.get("capabilities") if isinstance(told, dict) else told
        if not isinstance(names, list):
            raise HarnessError("The adapter's `capabilities` has to be a list of names.")
        return declared(map(str, names))

    def prepared(self) -> tuple[Business, ...]:
        """There is none before it is asked for."""
        return ()

    def provision(self, wanted: Mapping[str, Any]) -> Business:
        """Have a business made: the answer has `id` and `secret_key`."""
        return business_of(wanted, self._ask("provision", wire(wanted)))

    def change(self, business: Business, changes: Mapping[str, Any]) -> None:
        """Have it changed: `id`, and the members that change."""
        self._ask("change", {**wire(changes), "id": business.id})

    def remove(self, business: Business) -> None:
        """Have it taken away."""
        self._ask("remove", {"id": business.id})

    def advance(self, seconds: float) -> None:
        """Have the clock moved by `seconds`."""
        self._ask("advance", {"seconds": seconds})

    def reset(self) -> None:
        """Have the clock put back."""
        self._ask("reset", {})

    def members(self, business: Business) -> list[dict[str, Any]]:
        """Have the records read: a list of objects."""
        told = self._ask("member", {"id": business.id})
        found = told.get("members") if isinstance(told, dict) else told
        return [dict(member) for member in found or []]

    def agent(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Have an agent do something."""
        return dict(self._ask("agent", request) or {})

    def close(self) -> None:
        """Nothing is open between two calls."""

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
            raise HarnessError(f"The adapter could not be asked to {verb}: {error}.") from None
        return _read(verb, run)


def _read(verb: str, run: subprocess.CompletedProcess[str]) -> Any:
    try:
        told = json.loads(run.stdout)
    except ValueError:
        shown = (run.stderr or run.stdout).strip()[-SHOWN:]
        raise HarnessError(f"The adapter's answer to {verb} is no JSON (status {run.returncode}): {shown}") from None
    if isinstance(told, dict) and isinstance(told.get("error"), dict):
        raise HarnessError(f"The adapter could not {verb}: {told['error'].get('message', 'it does not say why')}")
    if run.returncode or not isinstance(told, dict) or "data" not in told:
        raise HarnessError(f'The adapter has to answer {verb} with {{"data": …}} and status 0, not {run.returncode}.')
    return told["data"]
