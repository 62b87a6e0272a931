"""Helpers that the checks share: findings, times, and invented people to impersonate."""
