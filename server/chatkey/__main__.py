"""Runs the command `chatkey` as `python -m chatkey`."""

from chatkey.cli import main

main()
