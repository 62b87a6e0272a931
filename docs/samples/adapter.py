"""A sample adapter: `python adapter.py VERB`, with JSON on standard input and output.

It creates businesses with the service's own command line. This sample uses `chatkey`, which finds its database through
`CHATKEY_DATA_DIR` or `CHATKEY_DATABASE_URL`; put your service's command in its place. It needs only Python.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

Given = dict[str, Any]

CAPABILITIES = ["businesses", "search", "calls"]
"""What the service and this adapter can do. The suite does not judge capabilities that are not listed here."""


class AdapterError(Exception):
    """A verb failed. The message is for the person who runs the suite."""


def capabilities(_: Given) -> list[str]:
    """Return the capabilities of the service."""
    return CAPABILITIES


def provision(wanted: Given) -> Given:
    """Create a business for `domains` with the social logins `socials`, and return its id and secret."""
    domains = [part for domain in wanted.get("domains", ()) for part in ("--domain", domain)]
    made = json.loads(run("provider", "add", "--json", *domains))
    for social, login in wanted.get("socials", {}).items():
        switch_on(made["id"], social, login)
    return {"id": made["id"], "secret_key": made["secret_key"]}


def switch_on(provider_id: str, social: str, login: Given) -> None:
    """Enable a social login with the service's keys or the business's own."""
    own = login.get("key_source") == "own"
    keys = ("--client-id", login["client_id"], "--client-secret-env", "CLIENT_SECRET") if own else ()
    switch = "--on" if login.get("enabled", True) else "--off"
    secret = {"CLIENT_SECRET": login["client_secret"]} if own else {}
    run("provider", "social", provider_id, social, switch, "--keys", "own" if own else "service", *keys, **secret)


def remove(_: Given) -> None:
    """Do nothing: this service keeps each business with its conversations, and an unused one does no harm."""


def run(*arguments: str, **environ: str) -> str:
    """Run the service's command and return its standard output. Raises `AdapterError`."""
    command = [sys.executable, "-m", "chatkey", *arguments]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AdapterError(f"chatkey {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout


VERBS: dict[str, Callable[[Given], Any]] = {"capabilities": capabilities, "provision": provision, "remove": remove}


def main() -> int:
    """Run the requested verb and print its result or its error as JSON."""
    verb = sys.argv[1]
    try:
        answer: Given = {"data": VERBS[verb](json.loads(sys.stdin.read() or "{}"))}
    except KeyError as error:
        answer = {"error": {"message": f"There is no {error} here: a verb, or a member of what {verb} was given."}}
    except (AdapterError, ValueError) as error:
        answer = {"error": {"message": str(error)}}
    print(json.dumps(answer))
    return 1 if "error" in answer else 0


if __name__ == "__main__":
    sys.exit(main())
