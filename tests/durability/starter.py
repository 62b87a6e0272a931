"""Runs `chatkey` commands one after another, each in a fork of this process, which has already imported all modules.

A server starts in a quarter of a second this way, and a test can kill it like any other process. Each command is one
line of JSON on standard input: `command` (a list of arguments), `environ` and `log` (the file for standard error). This
process writes `pid <number>`, the output of the command, and `ended <status>`.
"""

import asyncio
import gc
import json
import os
import sys

from chatkey.cli import main
from chatkey_server.app import create_app
from chatkey_server.commands import db, provider  # noqa: F401
from chatkey_server.commands.serve import _check_stores, site_of
from chatkey_server.settings import load

settings = load()
asyncio.run(_check_stores(settings))  # these two calls only load modules
site_of(create_app(settings), settings)
gc.freeze()  # otherwise garbage collection in a child would copy all shared memory pages

for line in sys.stdin:
    asked = json.loads(line)
    child = os.fork()
    if not child:
        sys.stdout.write(f"pid {os.getpid()}\n")  # here, so that it precedes the command's output
        sys.stdout.flush()
        os.environ.update(asked["environ"])
        os.dup2(os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND), sys.stderr.fileno())
        sys.argv[1:] = asked["command"]
        main()
    _, status = os.waitpid(child, 0)
    sys.stdout.write(f"ended {os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.flush()
