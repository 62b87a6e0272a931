"""A fake OAuth provider that behaves like the real ones, for tests and demos."""
