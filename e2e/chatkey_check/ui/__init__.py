"""The local page of --ui, which shows every call of a run, sends edited calls again, and explains tokens."""
