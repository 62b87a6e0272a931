"""The end of a run: a service, a socket of it, and a widget in a browser."""
