"""Test-only controls, mounted on loopback and on request only (D-14)."""
