"""How this server logs people in with social providers: one module per provider, and what they share."""
