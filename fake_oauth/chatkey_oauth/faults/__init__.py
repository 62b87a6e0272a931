"""Deliberate misbehaviour: the faults by name, the rules that arm them, and the code that applies them to requests."""
