"""Labs, the test controls of our servers: who may use them, and which faults they can inject. Shared by all servers."""
