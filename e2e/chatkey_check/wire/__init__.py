"""Sends requests: over real HTTP, or in a dry run that only records them."""
