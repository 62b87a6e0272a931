"""Labs, the test controls of servers: who may use them, and what can be made to go wrong, the same everywhere."""
