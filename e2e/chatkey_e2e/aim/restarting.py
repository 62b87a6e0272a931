"""Restarts a target with the command in its TARGET.toml."""

from __future__ import annotations

import subprocess
import time
from typing import Final

import httpx

from chatkey_conform.grades.business import HarnessError
from chatkey_conform.target import Target
from chatkey_stack.patience import PATIENCE

LOOK_SECONDS: Final = 0.05
SHOWN: Final = 400


def restart(target: Target, patience: float = PATIENCE) -> None:
    """Run the restart command, and wait until the service responds again. Raises `HarnessError`."""
    try:
        run = subprocess.run(  # noqa: S603 - the command is the user's own
            target.service.restart,
            cwd=target.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"target.restart could not be run: {error}.") from None
    if run.returncode:
        shown = (run.stderr or run.stdout).strip()[-SHOWN:]
        raise HarnessError(f"target.restart failed with exit status {run.returncode}: {shown}")
    _wait_until_there(target, patience)


def _wait_until_there(target: Target, patience: float) -> None:
    deadline = time.monotonic() + patience
    with httpx.Client(verify=target.trust(), trust_env=False, timeout=patience) as asking:
        while True:
            try:
                asking.get(target.local_url)
            except httpx.HTTPError as error:
                if time.monotonic() > deadline:
                    raise HarnessError(
                        f"The service did not respond within {patience:g} s after target.restart: {error}."
                    ) from None
                time.sleep(LOOK_SECONDS)
            else:
                return
