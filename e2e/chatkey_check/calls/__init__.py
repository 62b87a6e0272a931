"""The calls to an endpoint: their sessions, their requests, and the tokens in the answers."""
