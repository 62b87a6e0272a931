"""Keeps pytest from collecting project/, which the tests here run with their own pytest."""

collect_ignore = ["project"]
