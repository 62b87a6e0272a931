"""Runs the checks: in which order, which of them, and what is known of their failures."""
