"""Runs a module like `python -m`, and ends when the parent process ends: `python -m chatkey_stack.tied MODULE …`.

The parent process holds the other end of standard input and writes nothing to it. The system closes this end when the
parent exits, even if the parent was killed.
"""

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """Run the module that the first argument names, with the other arguments."""
    threading.Thread(target=_end_with_the_other_end, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _end_with_the_other_end() -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
