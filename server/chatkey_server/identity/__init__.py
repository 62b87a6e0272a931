"""The rules of identity: keys, tokens, proofs, origins, OAuth state. No framework, no I/O, time is a parameter."""
