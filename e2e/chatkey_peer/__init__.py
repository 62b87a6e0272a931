"""The client side of the contract, for the harness, the checker and the load test: a key, a socket, masked secrets."""
