"""Helpers that the checks share: findings, times, and made-up people to impersonate."""
