"""How the server logs in with each social provider: one module each."""
