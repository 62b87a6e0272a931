"""Runs `chatkey` commands one after the other, each in a fork of this process, which has everything imported already.

Reads a JSON line with `command` (a list of arguments), `environ` and `log` (the file of its standard error); answers
with `pid <number>`, what the command prints, and `ended <status>`. So a server is up in a quarter of a second, and can
be killed like any other process.
"""

import asyncio
import gc
import json
import os
import sys

from chatkey_server.app import create_app
from chatkey_server.cli import main
from chatkey_server.commands import db, provider  # noqa: F401
from chatkey_server.commands.serve import _check_stores, uvicorn_config
from chatkey_server.settings import load

settings = load()
asyncio.run(_check_stores(settings))  # these two for what they import
uvicorn_config(create_app(settings), settings)
gc.freeze()  # or every child would look through it all, and copy it by that

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        sys.stdout.write(f"pid {os.getpid()}\n")  # here, or the command might be the first to print
        sys.stdout.flush()
        os.environ.update(asked["environ"])
        os.dup2(os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
        sys.argv[1:] = asked["command"]
        main()
    _, status = os.waitpid(child, 0)
    sys.stdout.write(f"ended {os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.flush()
