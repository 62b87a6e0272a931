"""The lab, a control API for tests: clients, people, clock, and received requests. Off unless enabled (D-14)."""
