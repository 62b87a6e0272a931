"""Keeps pytest from collecting project/. The tests in this folder start a separate pytest for project/."""

collect_ignore = ["project"]
