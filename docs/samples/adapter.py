"""A sample adapter: `python adapter.py VERB`, JSON on standard input and output.

It makes businesses by a command line of the service's own: that of `chatkey`, which finds the database by
`CHATKEY_DATA_DIR` or `CHATKEY_DATABASE_URL`. Put yours in its place. It needs nothing but Python.
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
"""What the service can do, and this adapter with it: what is not named here is not judged, and not missed."""


class AdapterError(Exception):
    """What could not be done; the message is for whoever runs the suite."""


def capabilities(_: Given) -> list[str]:
    """Say what the service can do."""
    return CAPABILITIES


def provision(wanted: Given) -> Given:
    """Make a business for `domains`, with the social logins `socials`; tell its id and its secret."""
    domains = [part for domain in wanted.get("domains", ()) for part in ("--domain", domain)]
    made = json.loads(run("provider", "add", "--json", *domains))
    for social, login in wanted.get("socials", {}).items():
        switch_on(made["id"], social, login)
    return {"id": made["id"], "secret_key": made["secret_key"]}


def switch_on(provider_id: str, social: str, login: Given) -> None:
    """Enable a social login, by the service's keys or by the business's own."""
    own = login.get("key_source") == "own"
    keys = ("--client-id", login["client_id"], "--client-secret-env", "CLIENT_SECRET") if own else ()
    switch = "--on" if login.get("enabled", True) else "--off"
    secret = {"CLIENT_SECRET": login["client_secret"]} if own else {}
    run("provider", "social", provider_id, social, switch, "--keys", "own" if own else "service", *keys, **secret)


def remove(_: Given) -> None:
    """Leave it: this service keeps a business with its conversations, and nobody minds one that is not used."""


def run(*arguments: str, **environ: str) -> str:
    """Run the service's command and return what it writes. Raises `AdapterError`."""
    command = [sys.executable, "-m", "chatkey_server", *arguments]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise AdapterError(f"chatkey {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout


VERBS: dict[str, Callable[[Given], Any]] = {"capabilities": capabilities, "provision": provision, "remove": remove}


def main() -> int:
    """Do the verb that was asked for, and tell what came of it."""
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
