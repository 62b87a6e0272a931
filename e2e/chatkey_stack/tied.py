"""Runs a module as `python -m` would, and ends with whoever started it: `python -m chatkey_stack.tied MODULE …`.

Whoever started it holds the other end of its standard input, and writes nothing. The system closes that end when he is
gone, even if he was killed and could tell nobody.
"""

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """Run the module that the first argument names, with the others."""
    threading.Thread(target=_end_with_the_other_end, daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _end_with_the_other_end() -> None:
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
