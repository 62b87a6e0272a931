"""Runs the checks: selects them, orders them, and applies the file of known failures."""
