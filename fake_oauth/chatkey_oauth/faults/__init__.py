"""Misbehaviour on purpose: faults by name, the rules that arm them, and the watch that lets them act."""
