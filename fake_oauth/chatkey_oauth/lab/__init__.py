"""The lab, a control API for tests: clients, people, clock, and received requests. It is off unless enabled (D-14)."""
