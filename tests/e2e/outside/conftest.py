"""The project is run by its own pytest."""

collect_ignore = ["project"]
