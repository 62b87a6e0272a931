"""Builds valid and deliberately faulty tokens and proofs, without using code of a service."""
