"""The last part of a run: a chat service, a socket to it, and a widget in a browser."""
