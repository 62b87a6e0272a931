"""Verdicts, and the recorded requests and responses that support them."""
