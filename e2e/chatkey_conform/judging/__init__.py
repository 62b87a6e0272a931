"""Verdicts on cases, and the recorded requests and responses that explain the verdicts."""
