"""Runs the command `chatkey` as `python -m chatkey_server`."""

from chatkey_server.cli import main

main()
