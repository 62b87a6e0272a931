"""The rules of identity: keys, tokens, proofs, origins and OAuth state.

This package uses no framework and does no I/O. The time is always a parameter.
"""
