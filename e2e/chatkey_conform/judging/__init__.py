"""Verdicts, and what was seen on the way to one."""
