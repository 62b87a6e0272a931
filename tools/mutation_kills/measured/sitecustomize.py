"""Measures which lines a server runs. `lines.py` has put this folder on the path, and sends the names of the tests."""

import atexit
import os
import socket
import sys
import threading
from pathlib import Path

from coverage import Coverage

if "serve" in sys.orig_argv:
    data = os.environ["LINES"]
    coverage = Coverage(data_file=data, data_suffix=True, include=["*/chatkey_server/*"], config_file=False)
    coverage.start()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(Path(data).with_name("socket")))

    def listen() -> None:
        for name in connection.makefile():
            coverage.switch_context(name.strip())
            connection.sendall(b"\n")

    threading.Thread(target=listen, daemon=True).start()
    atexit.register(coverage.save)
    atexit.register(coverage.stop)
