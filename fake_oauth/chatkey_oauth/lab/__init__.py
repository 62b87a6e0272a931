"""Controls for tests: clients, people, clock, and what was received. Absent unless switched on (D-14)."""
