"""Deliberate misbehaviour: the faults by name, the rules that arm them, and the watch that applies them to requests."""
