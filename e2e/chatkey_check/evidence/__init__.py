"""Decides which parts of a call a report may show: finds leaked secrets, masks secrets, and writes curl lines."""
