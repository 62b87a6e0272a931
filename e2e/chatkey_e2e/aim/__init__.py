"""The scenarios aimed at a service that is not ours: what stands around it, and what of the harness is behind it."""
