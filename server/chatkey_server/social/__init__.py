"""How this server logs people in with social providers: what they share, and in `providers` what is their own."""
