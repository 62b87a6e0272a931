"""The rules of identity: keys, tokens, proofs, origins and OAuth state. No framework, no I/O; time is a parameter."""
