"""Decides what a report may show of a call: finds leaked secrets, masks secrets, and writes curl lines."""
