"""A client for the harness, the checker and the load test: a browser's key, a socket, and masked secrets."""
