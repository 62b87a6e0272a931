"""Builds valid and deliberately faulty tokens and proofs, independently of any service's code."""
