"""Run the front: `python -m chatkey_stack.front --help`."""

from chatkey_stack.front.cli import front

front()
