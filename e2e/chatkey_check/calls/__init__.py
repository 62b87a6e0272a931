"""The calls to an endpoint: the sessions, the requests, and the tokens in the answers."""
