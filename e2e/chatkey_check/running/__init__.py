"""Runs the checks: selects and orders them, and applies the file of known failures."""
